package sst

import (
	"context"
	"fmt"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
)

// Names that a table may give, besides none at all.
const (
	Comparator    = "leveldb.BytewiseComparator"
	MergeOperator = "StringAppendTESTOperator"
)

// Options tunes Open; the zero value works.
type Options struct {
	// LargestSeq is what the MANIFEST says of the file. An ingested file whose own number was never filled in takes it for all its entries.
	LargestSeq uint64
	Stats      *Stats // where to count; nil: nowhere
}

// Tombstone deletes the keys in [Start, End) that are older than Seq.
type Tombstone struct {
	Start, End []byte // user keys
	Seq        uint64
}

// Table is an open table file: its footer, properties and range tombstones in memory, index and filter from their first use on.
type Table struct {
	name   string
	file   storage.File
	link   *fetch.Link // to the file; nil: it is near
	stats  *Stats
	footer *footer
	staged *fetch.Stage // what is kept of the file's end
	meta   map[string]handle
	props  *Properties
	codec  *decompressor

	globalSeq  uint64
	replaceSeq bool // of every entry, by globalSeq
	tombstones []Tombstone

	mu     sync.Mutex
	index  *block
	filter *filter
}

// Open reads what is needed before the first entry: footer, metaindex, properties, dictionary and range tombstones. The
// table closes f.
func Open(ctx context.Context, f storage.File, o Options) (*Table, error) {
	t := &Table{name: f.Name(), link: fetch.Of(f), stats: o.Stats}
	if t.stats == nil {
		t.stats = &Stats{}
	}
	t.file = counted{f, t.stats}
	for _, step := range []func(context.Context) error{t.readFooter, t.readMeta, t.readProperties, t.readDictionary} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.admit(o.LargestSeq); err != nil {
		return nil, err
	}
	if err := t.readTombstones(ctx); err != nil {
		return nil, err
	}
	return t, t.settle(ctx)
}

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }

// Name is the file's name for messages.
func (t *Table) Name() string { return t.name }

// Properties gives what the table tells of itself.
func (t *Table) Properties() *Properties { return t.props }

// FormatVersion is the version of the table's layout.
func (t *Table) FormatVersion() int { return int(t.footer.version) }

// Tombstones gives the range tombstones as written: not cut at the file's bounds. They must not be changed.
func (t *Table) Tombstones() []Tombstone { return t.tombstones }

func (t *Table) readFooter(ctx context.Context) error {
	size := t.file.Size()
	b := make([]byte, min(size, t.tailSize()))
	if err := t.file.ReadAt(ctx, b, size-int64(len(b))); err != nil {
		return err
	}
	t.staged = fetch.Staged(size-int64(len(b)), b)
	t.codec = &decompressor{}
	var err error
	t.footer, err = decodeFooter(t.name, b, size)
	if err == nil {
		t.codec.version = t.footer.version
	}
	return err
}

// readMeta reads the metaindex: names of meta blocks, each with its handle.
func (t *Table) readMeta(ctx context.Context) error {
	b, err := t.load(ctx, t.footer.metaindex, nil)
	if err != nil {
		return fmt.Errorf("metaindex: %w", err)
	}
	t.meta = map[string]handle{}
	var e entries
	e.reset(b)
	for e.step() {
		var h handle
		if _, ok := h.decode(e.value, false); !ok {
			return e.corrupt("malformed handle of meta block %q", e.key)
		}
		t.meta[string(e.key)] = h
	}
	return e.err
}

// readProperties forgives one checksum: that of a file whose global sequence number was written over the zero it was sealed with.
func (t *Table) readProperties(ctx context.Context) error {
	h, ok := t.meta["rocksdb.properties"]
	if !ok {
		h, ok = t.meta["rocksdb.stats"] // its name long ago
	}
	if !ok {
		return fault.Corrupt(t.name, int64(t.footer.metaindex.offset), "table without properties")
	}
	b, err := t.load(ctx, h, nil)
	if err != nil {
		var ok bool
		if b, ok = t.resealed(ctx, h); !ok {
			return fmt.Errorf("properties: %w", err)
		}
	}
	if t.props, err = parseProperties(b); err != nil {
		return fmt.Errorf("properties: %w", err)
	}
	return nil
}

// resealed gives the properties block when its checksum fits once the global sequence number is zero.
func (t *Table) resealed(ctx context.Context, h handle) (block, bool) {
	if t.check(h) != nil {
		return block{}, false
	}
	stored := make([]byte, h.size+trailerSize)
	if t.file.ReadAt(ctx, stored, int64(h.offset)) != nil || stored[h.size] != noCompression {
		return block{}, false
	}
	b, err := parseBlock(t.name, int64(h.offset), stored[:h.size])
	if err != nil {
		return block{}, false
	}
	var e entries
	e.reset(b)
	for e.step() {
		if string(e.key) == globalSeqProperty && len(e.value) == 8 {
			seq := [8]byte(e.value)
			clear(e.value)
			ok := t.verify(stored, h.offset)
			copy(e.value, seq[:])
			return b, ok
		}
	}
	return block{}, false
}

func (t *Table) readDictionary(ctx context.Context) error {
	h, ok := t.meta["rocksdb.compression_dict"]
	if !ok {
		return nil
	}
	if err := t.check(h); err != nil {
		return err
	}
	stored := make([]byte, h.size+trailerSize)
	if err := t.readAt(ctx, stored, int64(h.offset), nil); err != nil {
		return err
	}
	dict, err := t.unpack(ctx, h, stored, nil)
	if err != nil {
		return fmt.Errorf("compression dictionary: %w", err)
	}
	if t.codec, err = newDecompressor(t.footer.version, dict); err != nil {
		return fault.Corrupt(t.name, int64(h.offset), "compression dictionary: %v", err)
	}
	return nil
}

// admit refuses what would be misread: another order of keys, another merge, an unknown index.
func (t *Table) admit(largestSeq uint64) error {
	p := t.props
	if foreign(p.Comparator, Comparator) || foreign(p.MergeOperator, MergeOperator) {
		return fault.Unsupported(t.name, -1, "comparator %q with merge operator %q unsupported, only %q with %q (or none) are",
			p.Comparator, p.MergeOperator, Comparator, MergeOperator)
	}
	if p.indexType > indexFirstKey {
		return fault.Unsupported(t.name, -1, "index type %d unsupported", p.indexType)
	}
	if t.footer.version >= 6 {
		h, ok := t.meta["rocksdb.index"]
		if !ok {
			return fault.Corrupt(t.name, int64(t.footer.metaindex.offset), "table without index")
		}
		t.footer.index = h
	}
	return t.takeGlobalSeq(largestSeq)
}

func foreign(name, known string) bool { return name != "" && name != "nullptr" && name != known }

// takeGlobalSeq decides the sequence number of an ingested file's entries, which were all written as 0.
func (t *Table) takeGlobalSeq(largest uint64) error {
	p, at := t.props, int64(t.meta["rocksdb.properties"].offset)
	if p.external < 2 {
		if p.globalSeq != 0 {
			return fault.Corrupt(t.name, at, "global sequence number %d in a file of external version %d", p.globalSeq, p.external)
		}
		return nil
	}
	t.replaceSeq, t.globalSeq = true, p.globalSeq
	if largest < ikey.MaxSeq {
		if p.globalSeq == 0 {
			t.globalSeq = largest
		}
		if t.globalSeq != largest {
			return fault.Corrupt(t.name, at, "global sequence number %d, the MANIFEST says %d", t.globalSeq, largest)
		}
	}
	if t.globalSeq > ikey.MaxSeq {
		return fault.Corrupt(t.name, at, "global sequence number %d", t.globalSeq)
	}
	return nil
}

func (t *Table) readTombstones(ctx context.Context) error {
	h, ok := t.meta["rocksdb.range_del"]
	if !ok {
		return nil
	}
	b, err := t.load(ctx, h, nil)
	if err != nil {
		return fmt.Errorf("range tombstones: %w", err)
	}
	var e entries
	e.reset(b)
	for e.step() {
		user, seq, kind, ok := ikey.Split(e.key)
		if !ok || kind != ikey.RangeDelete {
			return e.corrupt("entry of %v among range tombstones", kind)
		}
		if t.replaceSeq {
			seq = t.globalSeq
		}
		t.tombstones = append(t.tombstones, Tombstone{append([]byte(nil), user...), e.value, seq})
	}
	return e.err
}

// topIndex gives the index block, or the one over its partitions.
func (t *Table) topIndex(ctx context.Context) (block, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.index == nil {
		b, err := t.load(ctx, t.footer.index, nil)
		if err != nil {
			return block{}, fmt.Errorf("index: %w", err)
		}
		t.index = &b
	}
	return *t.index, nil
}
