package sinktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// Rows are what benchmarks write: six columns, about 150 bytes of JSON a row.
var BenchColumns = columns("id* int64", "name string", "city string", "balance decimal", "visits int32", "active bool")

// BenchRow gives the values of row i; they differ from one version to the next.
func BenchRow(i, version int) (id int64, name, city, balance string, visits int32, active bool) {
	return int64(i), fmt.Sprintf("customer number %d", i), fmt.Sprintf("city %d", i%500), fmt.Sprintf("%d.%02d", i*7%100000+version, i%100), int32(i%1000 + version), i%2 == 0
}

// BenchChanges gives the changes that write n rows.
func BenchChanges(op byte, n, version int) (changes []stream.Change) {
	for i := range n {
		id, name, city, balance, visits, active := BenchRow(i, version)
		changes = append(changes, stream.Change{
			Op: op, Seq: uint64(i + 1), Key: fmt.Appendf(nil, `{"id":%d}`, id),
			After: fmt.Appendf(nil, `{"id":%d,"name":%q,"city":%q,"balance":%q,"visits":%d,"active":%t}`, id, name, city, balance, visits, active),
		})
	}
	return changes
}

// Bench writes n rows into a filled table, again and again, and reports rows a second.
func Bench(b *testing.B, sink sinks.Sink, n int) {
	table := sinks.Table{Source: "bench", Consumer: "bench_sink", Columns: BenchColumns}
	if err := sink.Prepare(b.Context(), table); err != nil {
		b.Fatal(err)
	}
	versions := [][]stream.Change{BenchChanges('u', n, 1), BenchChanges('u', n, 2)}
	write := func(number uint64, full bool, changes []stream.Change) {
		from, err := sink.Position(b.Context(), table)
		if err != nil {
			b.Fatal(err)
		}
		to := stream.Epoch{Source: table.Source, Consumer: table.Consumer, Chain: "bench", Number: number, Full: full, Columns: table.Columns}
		tx, err := sink.Begin(b.Context(), table, from, to)
		if err != nil {
			b.Fatal(err)
		}
		for batch := range slices.Chunk(changes, 1000) {
			if err := tx.Apply(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	write(1, true, BenchChanges('r', n, 0))
	number := uint64(2)
	for b.Loop() {
		write(number, false, versions[number%2])
		number++
	}
	Rate(b, n)
}

// Rate reports how many rows a second b has written.
func Rate(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(b.Elapsed()/time.Duration(b.N*n)), "ns/row")
}
