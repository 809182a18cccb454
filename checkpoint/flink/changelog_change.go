package flink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
	"github.com/statebridge/statebridge/state/javaobj"
)

// The operations of a log.
const (
	opClear              = 0
	opSet                = 1
	opSetInternal        = 2
	opAdd                = 3
	opMergeNamespaces    = 4
	opAddElement         = 5
	opAddOrUpdateElement = 6
	opRemoveElement      = 7
	opMetadata           = 8
)

// ChangeOp is what a Change does.
type ChangeOp uint8

// What changes do.
const (
	Put        ChangeOp = iota + 1 // the entry of Key has Value
	AppendList                     // the elements of Value come behind those of Key
	Remove                         // the entry of Key is gone
	RemoveAll                      // every entry is gone whose key begins with Key
	Merge                          // what Sources hold goes to Target; all their keys begin with Key
)

// Change is one change of one entry, or of many with keys alike. Keys and values have RocksDB's form.
type Change struct {
	Op         ChangeOp
	Version    int // of the state's description
	Key, Value []byte
	Target     []byte
	Sources    [][]byte
}

// Changes gives the changes of one state in a range of key groups in their order. The bytes of a change are valid until the next one. An error is the
// last pair.
func (l *Changelog) Changes(ctx context.Context, stateID int, groups KeyGroupRange) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		s := l.states[stateID]
		if l.key == nil && !s.timers {
			yield(Change{}, fault.Unsupported("", -1, "state %q: %s", s.Name, whyNoKey))
			return
		}
		d := &changeDecoder{log: l, want: stateID, groups: groups, yield: yield, ids: map[int16]loggedMeta{}}
		w := &logWalk{log: l, ctx: ctx, groups: groups, visit: d.visit}
		if s.timers {
			w.groups = l.handle.Range // see place
		}
		if err := w.run(); err != nil && !errors.Is(err, errStop) {
			yield(Change{}, fmt.Errorf("state %q: changelog: %w", s.Name, err))
		}
	}
}

// changeDecoder turns what one state logged into changes.
type changeDecoder struct {
	log    *Changelog
	want   int
	groups KeyGroupRange
	yield  func(Change, error) bool
	ids    map[int16]loggedMeta
	metas  int // seen so far
	schema *state.Schema

	r         javaio.Reader
	logged    logged
	keyGroup  int // of the key
	key, ns   []byte
	json      []byte
	hashed    []byte // the key that keyGroup was computed of last
	hashedTo  int
	change    Change
	stopped   bool
	composite []byte
	value     []byte
}

func (d *changeDecoder) visit(c logged) (more bool, err error) {
	if c.keyGroup == metaGroup {
		return true, d.meta(c)
	}
	d.r.Reset(c.file, c.off, c.data)
	d.logged = c
	op, id := d.r.Uint8(), d.r.Int16()
	m, ok := d.ids[id]
	if d.r.Err() == nil && !ok {
		d.r.Fail("change of state %d, which was not described", id)
	}
	if d.r.Err() != nil || m.state != d.want {
		return true, d.r.Err()
	}
	s := d.log.states[m.state]
	d.schema, d.change.Version = s.Versions[m.version], m.version
	if s.timers {
		d.timers(op)
	} else {
		d.keyValue(op)
	}
	if d.r.Err() == nil && !d.stopped {
		d.r.End()
	}
	return !d.stopped, d.r.Err()
}

// meta assigns a number, as it was learnt when the log was opened.
func (d *changeDecoder) meta(c logged) error {
	if d.metas >= len(d.log.metas) || len(c.data) < metaTail {
		return fault.Corrupt(c.file, c.off, "metadata that was not there when the log was opened")
	}
	m := d.log.metas[d.metas]
	d.metas++
	if b := c.data[len(c.data)-metaTail:]; int16(uint16(b[0])<<8|uint16(b[1])) != m.id {
		return fault.Corrupt(c.file, c.off, "other metadata than when the log was opened")
	}
	d.ids[m.id] = m
	return nil
}

func (d *changeDecoder) emit(op ChangeOp, key, value []byte) {
	if d.r.Err() != nil || d.stopped {
		return
	}
	d.change.Op, d.change.Key, d.change.Value = op, key, value
	d.stopped = !d.yield(d.change, nil)
}

func (d *changeDecoder) refuse(op uint8) {
	d.r.Fail("operation %d on a state of kind %s", op, d.schema.Kind)
}

// place finds the key group of a key from its hash, where that is known, and else takes the log's word. For timers the log has the group of the key which the
// operator was at, which need not be the timer's; for all others both have to agree.
func (d *changeDecoder) place(key []byte, check bool) {
	d.keyGroup = d.logged.keyGroup
	codec, ok := d.schema.Key.(state.KeyCodec)
	if !ok || d.r.Err() != nil {
		return
	}
	if d.hashed == nil || !bytes.Equal(key, d.hashed) {
		var r javaio.Reader
		r.Reset(d.logged.file, d.logged.off, key)
		d.json = codec.AppendJSON(d.json[:0], &r)
		hash, ok := codec.HashCode(d.json)
		if !ok || r.Err() != nil {
			return
		}
		d.hashed, d.hashedTo = append(d.hashed[:0], key...), state.KeyGroup(hash, d.log.maxParallelism)
	}
	if check && d.hashedTo != d.keyGroup {
		d.r.Fail("change of key group %d, its key belongs to %d", d.keyGroup, d.hashedTo)
	}
	d.keyGroup = d.hashedTo
}

func (d *changeDecoder) timers(op uint8) {
	n := 1
	change := Remove
	switch op {
	case opAddElement:
		change, n = Put, d.r.Count(1)
	case opRemoveElement:
	default:
		d.refuse(op)
	}
	for range n {
		if d.r.Err() != nil || d.stopped {
			return
		}
		d.timer(change)
	}
}

// timer reads one element: timestamp (8B), key, namespace.
func (d *changeDecoder) timer(change ChangeOp) {
	element := d.r.Rest()
	d.r.Skip(8)
	key := cut(&d.r, d.schema.Key)
	cut(&d.r, d.schema.Namespace)
	element = element[:len(element)-d.r.Len()]
	if d.place(key, false); !d.groups.Contains(d.keyGroup) {
		return
	}
	d.composite = d.schema.AppendKey(d.composite[:0], d.keyGroup, element, nil, nil)
	d.emit(change, d.composite, nil)
}

func (d *changeDecoder) keyValue(op uint8) {
	d.key = cut(&d.r, d.schema.Key)
	d.ns = cut(&d.r, d.schema.Namespace)
	d.place(d.key, true)
	if d.r.Err() != nil {
		return
	}
	d.composite = d.schema.AppendKey(d.composite[:0], d.keyGroup, d.key, d.ns, nil)
	switch d.schema.Kind {
	case state.KindList:
		d.list(op)
	case state.KindMap:
		d.mapping(op)
	case state.KindReducing, state.KindAggregating:
		d.accumulator(op)
	default:
		d.single(op)
	}
}

// rest takes what is left of the change, which is one value.
func (d *changeDecoder) rest() []byte { return d.r.Take(d.r.Len()) }

func (d *changeDecoder) single(op uint8) {
	switch op {
	case opSet:
		d.emit(Put, d.composite, d.rest())
	case opClear:
		d.emit(Remove, d.composite, nil)
	default:
		d.refuse(op)
	}
}

func (d *changeDecoder) accumulator(op uint8) {
	switch op {
	case opSetInternal:
		d.emit(Put, d.composite, d.rest())
	case opMergeNamespaces:
		d.merge()
	default:
		d.single(op)
	}
}

func (d *changeDecoder) list(op uint8) {
	switch op {
	case opSet, opSetInternal:
		if d.elements() > 0 {
			d.emit(Put, d.composite, d.value)
			return
		}
		d.emit(Remove, d.composite, nil) // an empty list is no row
	case opAdd:
		if d.elements() > 0 {
			d.emit(AppendList, d.composite, d.value)
		}
	case opAddElement:
		d.emit(AppendList, d.composite, d.rest())
	case opMergeNamespaces:
		d.merge()
	case opClear:
		d.emit(Remove, d.composite, nil)
	default:
		d.refuse(op)
	}
}

// elements reads a list with its length before it, and joins its elements by the delimiter.
func (d *changeDecoder) elements() int {
	n := d.r.Count(1)
	d.value = d.value[:0]
	for i := range n {
		if i > 0 {
			d.value = append(d.value, ',')
		}
		if n == 1 {
			d.value = append(d.value, d.rest()...)
			break
		}
		if d.value = append(d.value, cut(&d.r, d.schema.Value)...); d.r.Err() != nil {
			return 0
		}
	}
	return n
}

func (d *changeDecoder) mapping(op uint8) {
	switch op {
	case opAdd:
		d.mappings()
	case opAddElement, opAddOrUpdateElement:
		d.composite = append(d.composite, cut(&d.r, d.schema.MapKey)...)
		d.value = append(append(d.value[:0], 0), d.rest()...)
		d.emit(Put, d.composite, d.value)
	case opRemoveElement:
		d.composite = append(d.composite, cut(&d.r, d.schema.MapKey)...)
		d.emit(Remove, d.composite, nil)
	case opClear:
		d.emit(RemoveAll, d.composite, nil)
	default:
		d.refuse(op)
	}
}

// mappings reads a map with its length before it.
func (d *changeDecoder) mappings() {
	front, n := len(d.composite), d.r.Count(1)
	for range n {
		key := cut(&d.r, d.schema.MapKey)
		d.value = append(d.value[:0], 0)
		switch {
		case d.r.Bool():
			d.value[0] = 1
		case n == 1:
			d.value = append(d.value, d.rest()...)
		default:
			d.value = append(d.value, cut(&d.r, d.schema.Value)...)
		}
		d.composite = append(d.composite[:front], key...)
		d.emit(Put, d.composite, d.value)
		if d.r.Err() != nil || d.stopped {
			return
		}
	}
}

// merge reads which namespaces of one key go to which.
func (d *changeDecoder) merge() {
	var into Change
	target := cut(&d.r, d.schema.Namespace)
	if d.r.Err() == nil && (!bytes.Equal(target, d.ns) || len(target) == 0) {
		d.r.Fail("namespaces merged into another than the present one")
	}
	into.Target = d.composite
	size := 0
	for range d.r.Count(1) {
		source := cut(&d.r, d.schema.Namespace)
		if d.r.Err() != nil {
			return
		}
		into.Sources = append(into.Sources, d.schema.AppendKey(nil, d.keyGroup, d.key, source, nil))
		if size += len(d.key) + len(source); size > maxRecord {
			d.r.Unsupported("namespaces of %d bytes in one merge", size)
			return
		}
	}
	if d.r.Err() != nil || d.stopped || len(into.Sources) == 0 {
		return
	}
	into.Op, into.Version = Merge, d.change.Version
	into.Key = d.schema.AppendKeyPrefix(nil, d.keyGroup, d.key)
	d.stopped = !d.yield(into, nil)
}

// skipSettings steps over what a state's metadata says of its TTL and of its default value.
func skipSettings(r *javaio.Reader) {
	if r.Bool() {
		javaobj.Parse(r)
	}
	if r.Bool() && r.Err() == nil {
		r.Skip(r.Len()) // the value, as the state's serializer wrote it: nobody asks for it
	}
}
