package state

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What Kryo as Flink sets it up wrote of small objects of the JDK.
func TestKryoJDK(t *testing.T) {
	file, err := os.ReadFile("testdata/kryo-jdk.tsv")
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]*kryoVersion{"2.24": &kryo24, "5": &kryo5}
	var out bytes.Buffer
	for line := range strings.Lines(string(file)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		got, err := decode(t, kryoOf(versions[part[0]], "java.lang.Object"), unhex(t, part[2]))
		if err != nil {
			got = err.Error()
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\n", part[0], part[1], got, part[3])
	}
	golden(t, "kryo-jdk", out.String())
}
