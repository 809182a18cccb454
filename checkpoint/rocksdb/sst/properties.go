package sst

import (
	"encoding/binary"
	"math"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/coding"
	"github.com/statebridge/statebridge/fault"
)

// Properties are the counts and names that a table tells of itself. Counts are what the writer says: estimates.
type Properties struct {
	FamilyID       uint64
	FamilyName     string
	Comparator     string
	MergeOperator  string
	FilterPolicy   string
	Entries        uint64
	Deletions      uint64
	MergeOperands  uint64
	RangeDeletions uint64
	DataBlocks     uint64
	DataSize       uint64
	IndexSize      uint64
	RawKeySize     uint64
	RawValueSize   uint64
	Compression    string

	indexType      uint32
	indexDelta     bool
	indexUserKeys  bool
	wholeKeyFilter bool
	external       uint32 // version of an ingested file; 0: not ingested
	globalSeq      uint64
}

// Growth is about how many times as much the entries of a block take as the block itself does; at least 1.
func (p *Properties) Growth() int64 {
	if p.DataSize == 0 {
		return 1
	}
	return int64(min(max(math.Ceil((float64(p.RawKeySize)+float64(p.RawValueSize))/float64(p.DataSize)), 1), maxGrowth))
}

const maxGrowth = 1 << 10

// Index types.
const (
	indexBinary = iota
	indexHash
	indexTwoLevel
	indexFirstKey
)

const globalSeqProperty = "rocksdb.external_sst_file.global_seqno"

func (p *Properties) numbers() map[string]*uint64 {
	return map[string]*uint64{
		"rocksdb.column.family.id":    &p.FamilyID,
		"rocksdb.num.entries":         &p.Entries,
		"rocksdb.deleted.keys":        &p.Deletions,
		"rocksdb.merge.operands":      &p.MergeOperands,
		"rocksdb.num.range-deletions": &p.RangeDeletions,
		"rocksdb.num.data.blocks":     &p.DataBlocks,
		"rocksdb.data.size":           &p.DataSize,
		"rocksdb.index.size":          &p.IndexSize,
		"rocksdb.raw.key.size":        &p.RawKeySize,
		"rocksdb.raw.value.size":      &p.RawValueSize,
	}
}

func (p *Properties) names() map[string]*string {
	return map[string]*string{
		"rocksdb.column.family.name": &p.FamilyName,
		"rocksdb.comparator":         &p.Comparator,
		"rocksdb.merge.operator":     &p.MergeOperator,
		"rocksdb.filter.policy":      &p.FilterPolicy,
		"rocksdb.compression":        &p.Compression,
	}
}

// parseProperties reads the properties block. What it does not know it leaves: properties are hints, but for those named here.
func parseProperties(b block) (*Properties, error) {
	p := &Properties{}
	numbers, names := p.numbers(), p.names()
	var e entries
	e.reset(b)
	for e.step() {
		key := string(e.key)
		var err error
		if n := numbers[key]; n != nil {
			*n, err = number(b, key, e.value)
		} else if s := names[key]; s != nil {
			*s = string(e.value)
		} else {
			err = p.layout(b, key, e.value)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, e.err
}

// layout takes the properties that say how the table is written.
func (p *Properties) layout(b block, key string, v []byte) error {
	var n uint64
	var err error
	switch key {
	case "rocksdb.index.key.is.user.key":
		n, err = number(b, key, v)
		p.indexUserKeys = n != 0
	case "rocksdb.index.value.is.delta.encoded":
		n, err = number(b, key, v)
		p.indexDelta = n != 0
	case "rocksdb.block.based.table.index.type":
		n, err = fixed(b, key, v, 4)
		p.indexType = uint32(n)
	case "rocksdb.block.based.table.whole.key.filtering":
		p.wholeKeyFilter = string(v) == "1"
	case "rocksdb.external_sst_file.version":
		n, err = fixed(b, key, v, 4)
		p.external = uint32(n)
	case globalSeqProperty:
		p.globalSeq, err = fixed(b, key, v, 8)
	}
	return err
}

func number(b block, key string, v []byte) (uint64, error) {
	r := coding.NewReader(b.name, b.offset, v)
	n := r.Uvarint64()
	if r.Err() != nil || r.Len() > 0 {
		return 0, fault.Corrupt(b.name, b.offset, "property %s is not a number", key)
	}
	return n, nil
}

func fixed(b block, key string, v []byte, size int) (uint64, error) {
	if len(v) != size {
		return 0, fault.Corrupt(b.name, b.offset, "property %s has %d bytes, not %d", key, len(v), size)
	}
	if size == 4 {
		return uint64(binary.LittleEndian.Uint32(v)), nil
	}
	return binary.LittleEndian.Uint64(v), nil
}

func (p *Properties) form() indexForm {
	return indexForm{userKeys: p.indexUserKeys, delta: p.indexDelta, firstKey: p.indexType == indexFirstKey}
}
