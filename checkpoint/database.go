package checkpoint

import (
	"bytes"
	"context"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/state"
)

// database is a source that lies in a RocksDB or ForSt instance: a column family a state.
type database struct {
	db    *rocksdb.DB
	files files
	dir   string // of the snapshot

	mu   sync.Mutex
	byID map[string]map[identity]*rocksdb.FileMeta // of a family
}

func (d *database) cursor(ctx context.Context, p *part, groups KeyGroups, lower, upper []byte) (Cursor, error) {
	first, last := groups.bounds(p.schema)
	if bytes.Compare(lower, first) < 0 {
		lower = first
	}
	if upper == nil || last != nil && bytes.Compare(last, upper) < 0 {
		upper = last
	}
	c, err := d.db.Cursor(ctx, p.columnFamily(), lower, upper)
	if err != nil {
		return nil, err
	}
	return databaseCursor{c, p}, nil
}

func (d *database) get(ctx context.Context, p *part, _ int, key []byte) (value []byte, found bool, err error) {
	value, found, err = d.db.Get(ctx, p.columnFamily(), key)
	return value, found && !p.blank(value), err
}

func (d *database) close() error { return d.db.Close() }

func (d *database) size(p *part) int64 {
	var sum int64
	for _, f := range d.db.Families() {
		if f.Name != p.columnFamily() {
			continue
		}
		for _, file := range f.Files {
			sum += file.Size
		}
	}
	return sum
}

type databaseCursor struct {
	*rocksdb.Cursor
	part *part
}

func (c databaseCursor) Next() bool {
	for c.Cursor.Next() {
		if !c.part.blank(c.Cursor.Value()) {
			return true
		}
	}
	return false
}

func (c databaseCursor) Schema() *state.Schema { return c.part.schema }
