package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		widths []int
		most   int
		want   []int
	}{
		{[]int{10, 20}, 40, []int{10, 20}},
		{[]int{10, 20}, 30, []int{10, 20}},
		{[]int{10, 20}, 25, []int{10, 15}},
		{[]int{100, 100}, 101, []int{51, 50}},
		{[]int{5, 100, 50}, 65, []int{5, 30, 30}},
		{[]int{3, 100, 100}, 5, []int{3, 4, 4}},
	} {
		got := slices.Clone(c.widths)
		if fit(got, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%v into %d: %v, want %v", c.widths, c.most, got, c.want)
		}
	}
}

// The first rows decide; a longer cell that comes later moves only its own line, and is shortened on a terminal.
func TestTableKeepsWidths(t *testing.T) {
	columns := []Column{{Name: "a", Type: "string"}, {Name: "b", Type: "int64"}}
	var in []string
	for i := range layoutRows + 5 {
		in = append(in, fmt.Sprintf(`{"a":"k","b":%d}`, i))
	}
	in = append(in, `{"a":"longer than the others","b":1}`, `{"a":"k","b":2}`)
	lines := strings.Split(string(render(t, Table, columns, Options{}, in)), "\n")
	if got := lines[len(lines)-3:]; got[0] != "longer than the others    1" || got[1] != "k    2" {
		t.Errorf("%q", got)
	}
	lines = strings.Split(string(render(t, Table, columns, Options{Terminal: true, Width: 80}, in)), "\n")
	if got := lines[len(lines)-3:]; got[0] != "…    1" || got[1] != "k    2" {
		t.Errorf("%q", got)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	in := []string{`{"string":"` + strings.Repeat("日本 e\u0301\\n", 100_000) + `","json":{"a":"` + strings.Repeat("x", 1000) + `"}}`}
	columns := []Column{{Name: "string", Type: "string"}, {Name: "json", Type: "json"}}
	for _, most := range []int{20, 37, 80, 200} {
		for line := range strings.SplitSeq(string(render(t, Table, columns, Options{Terminal: true, Width: most}, in)), "\n") {
			if width(line) > most {
				t.Errorf("%d characters on a terminal of %d: %s", width(line), most, line)
			}
		}
	}
}
