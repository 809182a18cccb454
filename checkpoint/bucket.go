package checkpoint

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/fluss"
	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// A KV snapshot of Fluss is a RocksDB database with one table, of one bucket. It is read as the state of an operator with one
// subtask and one key group; it has no id and no name.

// bucketFamily is the only column family of a bucket's database.
const bucketFamily = "default"

// bucketMetadata says of a bucket's files what Flink would say, so that whatever walks files need not know of Fluss.
func bucketMetadata(m *fluss.Metadata) *flink.Metadata {
	h := &flink.IncrementalHandle{Shared: bucketFiles(m.Shared), Private: bucketFiles(m.Private), CheckpointedSize: -1}
	o := flink.Operator{Parallelism: 1, MaxParallelism: 1, Subtasks: []flink.Subtask{{ManagedKeyed: h}}}
	return &flink.Metadata{Version: 1, CheckpointID: m.SnapshotID, Operators: []flink.Operator{o}}
}

func bucketFiles(files []fluss.File) []flink.NamedHandle {
	var out []flink.NamedHandle
	for _, f := range files {
		out = append(out, flink.NamedHandle{Name: f.Name, Stream: &flink.StreamHandle{Kind: flink.AbsoluteFile, Path: f.Path, Size: f.Size}})
	}
	return out
}

// loadBucket opens the only table of a KV snapshot of Fluss.
func (o *Operator) loadBucket(ctx context.Context) ([]*Table, error) {
	h := o.Subtasks[0].ManagedKeyed.(*flink.IncrementalHandle)
	db, err := o.openFiles(ctx, filesOf(h))
	if err != nil {
		return nil, err
	}
	schema, err := o.bucketSchema(ctx, db.db)
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	parts := o.parts([]*state.Schema{schema}, h.Range, db)
	parts[0].family = bucketFamily
	return o.assemble(parts)
}

func (o *Operator) bucketSchema(ctx context.Context, db *rocksdb.DB) (*state.Schema, error) {
	m, table := o.snapshot.Fluss, o.snapshot.options.Table
	for _, f := range db.Families() {
		if f.Name != bucketFamily {
			return nil, fault.Unsupported(o.snapshot.Location, -1, "a bucket with a column family %q is not supported", f.Name)
		}
	}
	if table == nil {
		o.note("keys and rows are shown raw: a KV snapshot does not hold the columns of its table. A schema file has them: --schema FILE")
		return state.RawFlussSchema(m.Table), nil
	}
	if m.PartitionID != nil && m.Partition == "" {
		return nil, fault.Unsupported(o.snapshot.Location, -1, "the values of partition %d are not known: its location %s is not one that Fluss makes", *m.PartitionID, m.Location)
	}
	id, err := newestSchema(ctx, db, table.SchemaIDs())
	if err != nil {
		return nil, err
	}
	return table.Schema(m.Table, m.Partition, id)
}

// newestSchema finds the schema that the table had by the time of the snapshot: the newest that an entry was written with. The newest files are
// asked first, and no more than it takes to meet the newest of all schemas.
func newestSchema(ctx context.Context, db *rocksdb.DB, ids []int) (int, error) {
	last := ids[len(ids)-1]
	if len(ids) == 1 {
		return last, nil
	}
	family, _ := db.Family(bucketFamily)
	newest := ids[0] - 1
	for _, f := range family.Files {
		id, err := newestOf(ctx, db, f, last)
		if err != nil {
			return 0, err
		}
		if newest = max(newest, id); newest >= last {
			break
		}
	}
	if !slices.Contains(ids, newest) { // no rows, or one of a schema that the file lacks, which is told when it is read
		return last, nil
	}
	return newest, nil
}

// newestOf gives the newest schema of a table's entries, up to last.
func newestOf(ctx context.Context, db *rocksdb.DB, f rocksdb.FileMeta, last int) (newest int, err error) {
	c, err := db.InternalCursor(ctx, []rocksdb.FileMeta{f}, nil, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	newest = math.MinInt
	for newest < last && c.Next() {
		if c.Kind() != ikey.Value {
			continue
		}
		if id, ok := state.FlussSchemaID(c.Value()); ok {
			newest = max(newest, id)
		}
	}
	return newest, c.Err()
}
