package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/state"
)

// A Row is one line of an export or of a file of expected rows.
type Row struct {
	fields object
	line   string
}

func (r Row) String() string { return r.line }

// Kind is value, list, map, …
func (r Row) Kind() string { return r.field("kind") }

// State is the name under which the job registered the state.
func (r Row) State() string { return r.field("state") }

// Raw says whether the row's value is bytes that were not decoded.
func (r Row) Raw() bool {
	v, _ := r.fields.get("value")
	o, _ := v.(object)
	_, raw := o.get("$raw")
	return raw
}

func (r Row) field(name string) string {
	v, _ := r.fields.get(name)
	s, _ := v.(string)
	return s
}

func (r Row) has(name string) bool {
	_, ok := r.fields.get(name)
	return ok
}

// identity tells rows apart by those of their members that the expected rows have.
func (r Row) identity(by map[string]bool) string {
	var b strings.Builder
	if by["operator_id"] || by["operator_uid"] {
		b.WriteString(r.operator())
	}
	for _, name := range []string{"state", "kind", "key", "namespace", "map_key"} {
		v, ok := r.fields.get(name)
		if ok && by[name] {
			fmt.Fprintf(&b, " %s=%s", name, text(v))
		}
	}
	return b.String()
}

func (r Row) operator() string {
	if id := r.field("operator_id"); id != "" {
		return id
	}
	return state.OperatorID(r.field("operator_uid"))
}

// fits says whether got has the row's value, and a time of last access within its bounds.
func (r Row) fits(got Row) bool {
	want, _ := r.fields.get("value")
	have, _ := got.fields.get("value")
	return same(want, have) && r.fitsTime(got)
}

func (r Row) fitsTime(got Row) bool {
	for _, bound := range []struct {
		name string
		sign int64
	}{{"ttl_ts", 1}, {"ttl_ts", -1}, {"ttl_ts_min", 1}, {"ttl_ts_max", -1}} {
		if !r.has(bound.name) {
			continue
		}
		want, ok1 := r.number(bound.name)
		have, ok2 := got.number("ttl_ts")
		if !ok1 || !ok2 || (have-want)*bound.sign < 0 {
			return false
		}
	}
	return true
}

func (r Row) number(name string) (int64, bool) {
	v, _ := r.fields.get(name)
	n, ok := v.(interface{ Int64() (int64, error) })
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// ReadRows reads JSON lines.
func ReadRows(r io.Reader) ([]Row, error) {
	var rows []Row
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			v, err := parse(line)
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
			}
			fields, ok := v.(object)
			if !ok {
				return nil, fmt.Errorf("row %d is no object: %.80q", len(rows)+1, line)
			}
			rows = append(rows, Row{fields, string(line)})
		}
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ReadFile reads a file of JSON lines, unpacking it when its name ends with .gz.
func ReadFile(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	rows, err := ReadRows(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// members are the names that occur in rows.
func members(rows []Row) map[string]bool {
	names := map[string]bool{}
	for _, r := range rows {
		for _, m := range r.fields {
			names[m.name] = true
		}
	}
	return names
}

func hasTimers(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Kind() == "timer" })
}

func withoutTimers(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Kind() == "timer" })
}

func group(rows []Row, by map[string]bool) map[string][]Row {
	groups := map[string][]Row{}
	for _, r := range rows {
		id := r.identity(by)
		groups[id] = append(groups[id], r)
	}
	return groups
}

// Compare says how got differs from want, a multiset of rows, in a line each; nothing when it does not. Timers count only when some are
// wanted, and a row marked as expired may be absent.
func Compare(want, got []Row) []string {
	if !hasTimers(want) {
		got = withoutTimers(got)
	}
	by := members(want)
	left := group(got, by)
	var faults []string
	for _, w := range want {
		id := w.identity(by)
		if i := slices.IndexFunc(left[id], w.fits); i >= 0 {
			left[id] = slices.Delete(left[id], i, i+1)
		} else if !w.has("expired") {
			faults = append(faults, "missing: "+w.line)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		for _, g := range left[id] {
			faults = append(faults, "not expected: "+g.line)
		}
	}
	return faults
}
