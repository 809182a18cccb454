package state

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

// Enums that Kryo wrote (see testdata/kryo-jdk.tsv), with the names of their constants given.
func TestHintedKryoEnum(t *testing.T) {
	file, err := os.ReadFile("testdata/kryo-jdk.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Dump$Color": `"RED"`, "Dump$Color$1": `"GREEN"`, "java.util.EnumMap": `[["BLUE",5]]`, "java.util.RegularEnumSet": `["BLUE"]`}
	versions, seen := map[string]*kryoVersion{"2.24": &kryo24, "5": &kryo5}, 0
	for line := range strings.Lines(string(file)) {
		part := strings.Split(line, "\t")
		if !strings.Contains(part[2], "44756d7024436f6c6f") { // Dump$Colo
			continue
		}
		c := kryoOf(versions[part[0]], "java.lang.Object")
		c.hints = enumHints(t, "RED,GREEN,BLUE")
		if got, err := decode(t, c, unhex(t, part[2])); err != nil || got != want[part[1]] {
			t.Errorf("Kryo %s, %s: %s, %v; want %s", part[0], part[1], got, err, want[part[1]])
		}
		c = kryoOf(versions[part[0]], "java.lang.Object")
		c.hints = enumHints(t, "RED")
		if _, err := decode(t, c, unhex(t, part[2])); part[1] != "Dump$Color" && !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("Kryo %s, %s of one constant: %v", part[0], part[1], err)
		}
		seen++
	}
	if seen != 2*len(want) {
		t.Errorf("%d lines have the enum, want %d", seen, 2*len(want))
	}
}

func enumHints(t *testing.T, names string) *Hints {
	t.Helper()
	var list []Hint
	for _, class := range []string{"Dump$Color", "Dump$Color$1"} {
		h, err := ParseHint(class + "=enum:" + names)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	hints, err := NewHints(list)
	if err != nil {
		t.Fatal(err)
	}
	return hints
}

func TestEnumHintRefuses(t *testing.T) {
	for _, text := range []string{"C=enum:", "C=enum:A,,B", "C=enum:A,A", "C=int32:enum:A"} {
		h, err := ParseHint(text)
		if err == nil {
			_, err = NewHints([]Hint{h})
		}
		if err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
