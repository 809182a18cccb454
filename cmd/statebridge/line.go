package main

import (
	"strconv"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/state"
)

// liner writes rows of one table as the JSON lines of export and diff.
type liner struct {
	head []byte // the members that are the same in every line
	buf  []byte
}

func newLiner(t *checkpoint.Table) *liner {
	var head []byte
	if t.Operator.ID != "" {
		head = append(append(append(head, `"operator_id":"`...), t.Operator.ID...), `",`...)
	}
	if t.Operator.UID != "" {
		head = append(append(append(head, `"operator_uid":`...), quote(t.Operator.UID)...), ',')
	}
	if t.Operator.Name != "" {
		head = append(append(append(head, `"operator_name":`...), quote(t.Operator.Name)...), ',')
	}
	head = append(append(head, `"state":`...), quote(t.Name)...)
	head = append(append(append(head, `,"kind":"`...), t.Kind...), '"')
	return &liner{head: head}
}

// row gives the line of a row, without a line feed.
func (l *liner) row(r *state.Row) []byte {
	l.buf = append(append(l.buf[:0], '{'), l.head...)
	l.identity(r)
	l.member(`,"value":`, r.Value)
	l.ttl(r)
	l.buf = append(l.buf, '}')
	return l.buf
}

// change gives the line of a change.
func (l *liner) change(c differ.Change) []byte {
	l.buf = append(append(l.buf[:0], `{"op":"`...), byte(c.Op))
	l.buf = append(append(l.buf, `",`...), l.head...)
	l.identity(c.Row())
	if c.Before != nil {
		l.member(`,"before":`, c.Before.Value)
	}
	if c.After != nil {
		l.member(`,"after":`, c.After.Value)
		l.ttl(c.After)
	}
	l.buf = append(l.buf, '}')
	return l.buf
}

func (l *liner) identity(r *state.Row) {
	l.member(`,"key":`, r.Key)
	l.member(`,"namespace":`, r.Namespace)
	l.member(`,"map_key":`, r.MapKey)
}

func (l *liner) ttl(r *state.Row) {
	if r.HasTTL {
		l.buf = strconv.AppendInt(append(l.buf, `,"ttl_ts":`...), r.TTL, 10)
	}
}

func (l *liner) member(name string, value []byte) {
	if value != nil {
		l.buf = append(append(l.buf, name...), value...)
	}
}
