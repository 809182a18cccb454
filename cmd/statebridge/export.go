package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/render"
	"github.com/statebridge/statebridge/state"
)

// maxParallel is more than there are cores anywhere.
const maxParallel = 256

type exportFlags struct {
	snapshotFlags
	selection
	output    string
	keyGroups string
	parallel  int
}

func newExport() *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export SNAPSHOT",
		Short: "Print the rows of a snapshot",
		Long: `Export prints every row of a snapshot, or of one operator, state or range of key groups.

With jsonl a row is one line: operator, state, kind, key, namespace, map_key, value, and ttl_ts where the state has a TTL; a map state gives a
line for each entry. The formats csv, parquet and table give one state typed columns of its own, and several states one row form with
JSON in the columns key, namespace, map_key and value.

A snapshot that turns out damaged ends in exit code 1: then what was printed is not all of it.`,
		Example: `  statebridge export /flink/checkpoints/4f0c…/chk-42 > rows.jsonl
  statebridge export chk-42 --operator accounts-op --state balance --output parquet > balance.parquet`,
		Args: exactly("SNAPSHOT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0])
		},
	}
	f.snapshotFlags.register(cmd)
	f.registerSchema(cmd)
	f.selection.register(cmd)
	f.selection.registerColumns(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "jsonl", "`FORMAT`: jsonl, json, csv, parquet or table")
	cmd.Flags().IntVarP(&f.parallel, "parallel", "j", 0, "decode `N` rows at once (default: one on each core)")
	cmd.Flags().StringVar(&f.keyGroups, "key-groups", "", "only the keyed state of these key `GROUPS`, such as 0-63")
	return cmd
}

func (f *exportFlags) run(cmd *cobra.Command, location string) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	format, err := render.ParseFormat(f.output)
	if err != nil {
		return &usageError{err}
	}
	var groups *checkpoint.KeyGroups
	if err := f.check(cmd.Flags(), "key-groups"); err != nil {
		return err
	}
	if f.parallel < 0 || f.parallel > maxParallel {
		return usagef("--parallel %d: a number from 1 to %d is expected, or 0 for one on each core", f.parallel, maxParallel)
	}
	if f.keyGroups != "" {
		g, err := parseKeyGroups(f.keyGroups)
		if err != nil {
			return err
		}
		groups = &g
	}
	if f.names, err = f.rowNames(); err != nil {
		return err
	}
	snap, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer snap.Close()
	if most := checkpoint.MostWorkers(f.limits.rows); f.parallel > most {
		fmt.Fprintf(stderr, "statebridge: --parallel %d: --memory %s has room for %d at once\n", f.parallel, f.memory, most)
	}
	f.timers = true
	tables, err := f.tables(ctx, snap)
	if err != nil {
		return err
	}
	if groups != nil {
		if tables, err = within(tables, *groups); err != nil {
			return err
		}
	}
	if err := f.warn(snap, stderr); err != nil {
		return err
	}
	out := bufio.NewWriterSize(stdout, 1<<16)
	return flushed(out, f.writeTables(ctx, tables, groups, format, out))
}

// warn tells what the operators that were read have besides their tables, and what of their state is not in the snapshot.
func (s *selection) warn(snap *checkpoint.Snapshot, stderr io.Writer) error {
	operators, err := s.operators(snap)
	for _, o := range operators {
		notes := o.Notes()
		if n := o.FinishedNote(); n != "" {
			notes = append(notes, n)
		}
		for _, n := range notes {
			fmt.Fprintf(stderr, "statebridge: %s: %s\n", o.Title(), n)
		}
	}
	return err
}

// within gives the keyed tables that have key groups of a range.
func within(tables []*checkpoint.Table, groups checkpoint.KeyGroups) (in []*checkpoint.Table, err error) {
	most := 0
	for _, t := range tables {
		if !t.Keyed() {
			continue
		}
		if most = max(most, t.MaxParallelism()); groups.First < t.MaxParallelism() {
			in = append(in, t)
		}
	}
	if len(in) == 0 || groups.Last >= most {
		return nil, usagef("--key-groups %s: the tables have key groups 0-%d", groups, most-1)
	}
	return in, nil
}

// genericColumns are those of rows of several states.
var genericColumns = []render.Column{
	{Name: "operator_id", Type: "string", Nullable: true}, {Name: "operator_uid", Type: "string", Nullable: true}, {Name: "operator_name", Type: "string", Nullable: true},
	{Name: "state", Type: "string"}, {Name: "kind", Type: "string"}, {Name: "key", Type: "json", Nullable: true}, {Name: "namespace", Type: "json", Nullable: true},
	{Name: "map_key", Type: "json", Nullable: true}, {Name: "value", Type: "json", Nullable: true}, {Name: "ttl_ts", Type: "int64", Nullable: true},
}

func (f *exportFlags) writeTables(ctx context.Context, tables []*checkpoint.Table, groups *checkpoint.KeyGroups, format render.Format, out io.Writer) (err error) {
	typed := len(tables) == 1 && format != render.JSONL && format != render.JSON
	columns := genericColumns
	if typed {
		columns = typedColumns(tables[0])
	}
	w, err := render.New(format, out, columns, renderOptions())
	if err != nil {
		return err
	}
	bar := newProgress("rows exported")
	defer bar.Done()
	for _, t := range tables {
		line := lines
		if typed {
			line = projected
		}
		if err := f.writeTable(ctx, t, groups, line, w, bar); err != nil {
			return err // and no Close: what is cut short must not look whole
		}
	}
	return w.Close()
}

// writeTable writes the rows of a table, or of a range of its key groups, in their order. They are decoded and encoded on several cores.
func (f *exportFlags) writeTable(ctx context.Context, t *checkpoint.Table, groups *checkpoint.KeyGroups, line liningOf, w render.Writer, bar *render.Progress) error {
	all := checkpoint.AllKeyGroups(t.MaxParallelism())
	if groups != nil {
		all = *groups
	}
	return t.Convert(ctx, all, checkpoint.Converter{
		Workers: f.parallel, Memory: f.limits.rows,
		Append: func() func(dst []byte, r *state.Row) ([]byte, error) {
			line, encode := line(t), w.Encoder()
			return func(dst []byte, r *state.Row) ([]byte, error) {
				row, err := line(r)
				if err != nil {
					return dst, err
				}
				return encode(dst, row)
			}
		},
		Write: func(b []byte, rows int) error {
			bar.Add(int64(rows))
			return w.WriteEncoded(b)
		},
	})
}

// liningOf makes what gives the JSON object of a row of a table, valid until the next.
type liningOf func(t *checkpoint.Table) func(*state.Row) ([]byte, error)

func typedColumns(t *checkpoint.Table) []render.Column {
	var columns []render.Column
	for _, c := range state.DefaultColumns(t.Schema()) {
		columns = append(columns, render.Column{Name: c.Name, Type: c.Type.ColumnType(), Nullable: true})
	}
	return columns
}

func lines(t *checkpoint.Table) func(*state.Row) ([]byte, error) {
	l := newLiner(t)
	return func(r *state.Row) ([]byte, error) { return l.row(r), nil }
}

func projected(t *checkpoint.Table) func(*state.Row) ([]byte, error) {
	p := state.NewProjection(state.DefaultColumns(t.Schema()))
	var buf []byte
	return func(r *state.Row) (_ []byte, err error) {
		buf, err = p.AppendRow(buf[:0], r)
		return buf, err
	}
}
