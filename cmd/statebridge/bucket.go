package main

import (
	"fmt"
	"io"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fluss"
)

// bucketReport is what inspect says of the bucket of Fluss that a KV snapshot holds.
type bucketReport struct {
	Table       string `json:"table"`
	TableID     int64  `json:"table_id"`
	Partition   string `json:"partition,omitempty"`
	PartitionID *int64 `json:"partition_id,omitempty"`
	Bucket      int64  `json:"bucket"`
	LogOffset   int64  `json:"log_offset"`
	RowCount    *int64 `json:"row_count,omitempty"` // as the server counted
}

func bucketOf(m *fluss.Metadata) *bucketReport {
	return &bucketReport{m.Table, m.TableID, m.Partition, m.PartitionID, m.BucketID, m.LogOffset, m.RowCount}
}

func (b *bucketReport) print(w io.Writer) {
	fmt.Fprintf(w, "table\t%s (id %d)\n", b.Table, b.TableID)
	if b.PartitionID != nil {
		fmt.Fprintf(w, "partition\t%s (id %d)\n", firstOf(b.Partition, "of unknown values"), *b.PartitionID)
	}
	fmt.Fprintf(w, "bucket\t%d\n", b.Bucket)
	fmt.Fprintf(w, "log offset\t%d\n", b.LogOffset)
	if b.RowCount != nil {
		fmt.Fprintf(w, "rows by the server\t%d\n", *b.RowCount)
	}
}

// ofFlink refuses what makes sense for the snapshots of jobs only.
func ofFlink(snap *checkpoint.Snapshot, command, why string) error {
	if snap.Fluss == nil {
		return nil
	}
	return fmt.Errorf("%s: %s is a KV snapshot of Fluss (%s): %s", command, snap.Location, snap.Fluss, why)
}
