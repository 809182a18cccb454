package sst

import (
	"context"
	"strings"

	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// filter tells which keys a table cannot have.
type filter struct {
	whole []byte // one filter over all keys
	parts *block // or an index over several
}

// The name that all filters of RocksDB itself share, whichever bits they hold.
const filterPolicy = "rocksdb.BuiltinBloomFilter"

// MayContain is false only when the table has no entry for the key. Range tombstones do not count as entries. A partition of the
// filter is looked for in what was staged before it is read.
func (t *Table) MayContain(ctx context.Context, user []byte, staged *fetch.Stage) (bool, error) {
	f, err := t.loadFilter(ctx)
	if err != nil {
		return false, err
	}
	if f.parts == nil {
		return f.whole == nil || mayMatch(f.whole, user), nil
	}
	var x indexEntries
	x.reset(*f.parts, t.filterForm())
	if !x.seek(user) {
		return true, x.err
	}
	b, err := t.loadRaw(ctx, x.at, staged)
	if err != nil {
		return false, err
	}
	return mayMatch(b, user), nil
}

// filterForm is that of the index over the filter's partitions: as the index's, without first keys.
func (t *Table) filterForm() indexForm {
	f := t.props.form()
	f.firstKey = false
	return f
}

func (t *Table) loadFilter(ctx context.Context) (*filter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter != nil {
		return t.filter, nil
	}
	f := &filter{}
	for name, h := range t.meta {
		kind, policy, _ := strings.Cut(name, ".")
		if !t.props.wholeKeyFilter || !strings.HasPrefix(policy, filterPolicy) {
			continue
		}
		switch kind {
		case "fullfilter":
			b, err := t.loadRaw(ctx, h, nil)
			if err != nil {
				return nil, err
			}
			f.whole = b
		case "partitionedfilter":
			b, err := t.load(ctx, h, nil)
			if err != nil {
				return nil, err
			}
			f.parts = &b
		}
	}
	t.filter = f
	return f, nil
}
