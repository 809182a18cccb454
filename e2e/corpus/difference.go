package corpus

import (
	"fmt"
	"maps"
	"slices"
)

// CompareDiff says where changes, as the command diff prints them, are not exactly the difference of two snapshots' expected rows, in a line each.
// Timers and the states of operators do not take part: diff does not print them.
func CompareDiff(base, next, changes []Row) []string {
	base, next, changes = keyed(base), keyed(next), keyed(changes)
	by := members(append(slices.Clone(base), next...))
	before, after, got := group(base, by), group(next, by), group(changes, by)

	ids := map[string]bool{}
	for _, groups := range []map[string][]Row{before, after, got} {
		for id := range groups {
			ids[id] = true
		}
	}
	var faults []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if fault := compareChange(before[id], after[id], got[id]); fault != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", id, fault))
		}
	}
	return faults
}

func keyed(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return slices.Contains([]string{"timer", "broadcast", "oplist", "opunion"}, r.Kind())
	})
}

// compareChange looks at one identity: its row in both snapshots, and what was printed about it.
func compareChange(before, after, got []Row) string {
	if len(before) > 1 || len(after) > 1 {
		return fmt.Sprintf("ambiguous: %d rows before, %d after", len(before), len(after))
	}
	op := ""
	switch {
	case len(before) == 0 && len(after) == 1:
		op = "c"
	case len(before) == 1 && len(after) == 0:
		op = "d"
	case len(before) == 1 && len(after) == 1 && !equal(before[0], after[0]):
		op = "u"
	}
	switch {
	case op == "" && len(got) == 0:
		return ""
	case op == "":
		return fmt.Sprintf("has not changed, but: %s", got[0])
	case len(got) != 1:
		return fmt.Sprintf("want one change, %q, have %d", op, len(got))
	case got[0].field("op") != op:
		return fmt.Sprintf("want op %q: %s", op, got[0])
	case !carries(got[0], "before", before) || !carries(got[0], "after", after):
		return fmt.Sprintf("before is %v and after is %v, but: %s", before, after, got[0])
	}
	return ""
}

func equal(a, b Row) bool {
	x, _ := a.fields.get("value")
	y, _ := b.fields.get("value")
	return same(x, y) && a.has("ttl_ts_min") == b.has("ttl_ts_min")
}

// carries says whether a change's member is the row's value; absent or null when there is no row.
func carries(change Row, name string, rows []Row) bool {
	have, ok := change.fields.get(name)
	if len(rows) == 0 {
		return !ok || have == nil
	}
	want, _ := rows[0].fields.get("value")
	return ok && same(want, have)
}
