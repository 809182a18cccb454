package state

import (
	"cmp"
	"slices"

	"github.com/statebridge/statebridge/state/javaio"
)

// A memberOrder puts the members of an object in order of their names, whatever order they are stored in: a POJO whose
// class gained fields keeps the old ones in front.
type memberOrder struct {
	names  [][]byte // `"name":`, as stored
	place  []int    // of each by name
	sorted bool     // they are stored in order
}

func newMemberOrder(fields []Field) memberOrder {
	o := memberOrder{place: make([]int, len(fields))}
	byName := make([]int, len(fields))
	for i, f := range fields {
		o.names = append(o.names, append(appendQuoted(nil, f.Name), ':'))
		byName[i] = i
	}
	slices.SortStableFunc(byName, func(a, b int) int { return cmp.Compare(fields[a].Name, fields[b].Name) })
	o.sorted = slices.IsSorted(byName)
	for place, i := range byName {
		o.place[i] = place
	}
	return o
}

// A memberReader appends the value of member i, in the order in which they are stored.
type memberReader interface {
	appendMember(dst []byte, i int, r *javaio.Reader) []byte
}

// append appends all members and the closing brace; dst ends in an opening brace or a comma.
func (o *memberOrder) append(dst []byte, r *javaio.Reader, m memberReader) []byte {
	if !o.sorted {
		return o.appendUnsorted(dst, r, m)
	}
	for i, name := range o.names {
		dst = append(m.appendMember(append(dst, name...), i, r), ',')
		if r.Err() != nil {
			break
		}
	}
	return closeObject(dst)
}

// closeObject puts the closing brace in the place of a last comma.
func closeObject(dst []byte) []byte {
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}

type span struct{ start, end int }

// appendUnsorted appends the members as they are stored, then once more in order, and moves these to the front.
func (o *memberOrder) appendUnsorted(dst []byte, r *javaio.Reader, m memberReader) []byte {
	var few [32]span
	spans := few[:]
	if len(o.names) > len(few) {
		spans = make([]span, len(o.names))
	}
	start := len(dst)
	for i, name := range o.names {
		at := len(dst)
		dst = append(m.appendMember(append(dst, name...), i, r), ',')
		spans[o.place[i]] = span{at, len(dst)}
		if r.Err() != nil {
			return closeObject(dst)
		}
	}
	end := len(dst)
	for _, s := range spans[:len(o.names)] {
		dst = append(dst, dst[s.start:s.end]...)
	}
	n := copy(dst[start:], dst[end:])
	return closeObject(dst[:start+n])
}
