package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/render"
	"github.com/statebridge/statebridge/state"
)

type diffFlags struct {
	snapshotFlags
	selection
	output  string
	summary bool
	explain bool

	gone map[string][]checkpoint.KeyGroups // by operator id: what is not compared, since either snapshot lacks it
}

func newDiff() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff BASE NEXT",
		Short: "Print what changed between two snapshots",
		Long: `Diff prints a line for each row that was created (c), updated (u) or deleted (d) between two snapshots, with the value before and after. The
snapshots may come from different backends or formats: a row is identified by its serialized key, and values are compared by what
they mean, so that a rewrite or a moved TTL timestamp is no change. Timers are compared only when --state names them.

A state that only one of the snapshots has is compared as empty in the other, and named on stderr.`,
		Example: `  statebridge diff /flink/checkpoints/4f0c…/chk-41 /flink/checkpoints/4f0c…/chk-42
  statebridge diff chk-41 chk-42 --operator accounts-op --state balance --summary`,
		Args: exactly("BASE", "NEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], args[1])
		},
	}
	f.snapshotFlags.register(cmd)
	f.registerSchema(cmd)
	f.selection.register(cmd)
	f.selection.registerColumns(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "jsonl", "`FORMAT`: jsonl, json, csv, parquet or table")
	cmd.Flags().BoolVar(&f.summary, "summary", false, "print the number of changes of each state only")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "say on stderr how each state was compared, what was read and what was not")
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command, baseAt, nextAt string) error {
	ctx := cmd.Context()
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	if f.summary && !cmd.Flags().Changed("output") {
		f.output = string(render.Table)
	}
	format, err := render.ParseFormat(f.output)
	if err != nil {
		return &usageError{err}
	}
	if f.names, err = f.rowNames(); err != nil {
		return err
	}
	base, next, err := f.both(ctx, baseAt, nextAt)
	if err != nil {
		return err
	}
	defer base.Close()
	defer next.Close()
	pairs, err := f.pairs(ctx, base, next)
	if err != nil {
		return err
	}
	f.gone = finished(base, next, pairs, cmd.ErrOrStderr())
	if next.Fluss != nil {
		if err := f.warn(next, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	return flushed(out, f.print(ctx, pairs, format, out, cmd.ErrOrStderr()))
}

// both opens the two snapshots side by side.
func (f *diffFlags) both(ctx context.Context, baseAt, nextAt string) (base, next *checkpoint.Snapshot, err error) {
	if _, err := f.options(); err != nil { // which are read once
		return nil, nil, err
	}
	var errBase, errNext error
	var g sync.WaitGroup
	g.Go(func() { base, errBase = f.open(ctx, baseAt) })
	g.Go(func() { next, errNext = f.open(ctx, nextAt) })
	g.Wait()
	switch {
	case errBase != nil:
		err = fmt.Errorf("base: %w", errBase)
	case errNext != nil:
		err = fmt.Errorf("next: %w", errNext)
	default:
		return base, next, nil
	}
	for _, s := range []*checkpoint.Snapshot{base, next} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return nil, nil, err
}

// finished gives the key groups, by operator id, whose state went with subtasks that have finished in either snapshot, and tells of them. To compare those would
// make a delete or an insert of every row.
func finished(base, next *checkpoint.Snapshot, pairs []pair, stderr io.Writer) map[string][]checkpoint.KeyGroups {
	stateful := map[string]bool{}
	for _, p := range pairs {
		stateful[p.table().Operator.ID] = true
	}
	gone := map[string][]checkpoint.KeyGroups{}
	for i, snap := range []*checkpoint.Snapshot{base, next} {
		for _, o := range snap.Operators() {
			n := o.FinishedNote()
			if n == "" || !stateful[o.ID] {
				continue
			}
			fmt.Fprintf(stderr, "statebridge: %s, operator %s: %s; it is not compared\n", []string{"base", "next"}[i], o, n)
			gone[o.ID] = append(gone[o.ID], o.FinishedGroups()...)
		}
	}
	for _, groups := range gone {
		slices.SortFunc(groups, func(a, b checkpoint.KeyGroups) int { return cmp.Compare(a.First, b.First) })
	}
	return gone
}

// pair is one state in two snapshots; nil where one lacks it.
type pair struct{ base, next *checkpoint.Table }

func (p pair) table() *checkpoint.Table {
	if p.next != nil {
		return p.next
	}
	return p.base
}

// load reads what is meant of both snapshots together. What is wrong with either comes out when its tables are asked for.
func (f *diffFlags) load(ctx context.Context, base, next *checkpoint.Snapshot) {
	before, errBefore := f.operators(base)
	after, errAfter := f.operators(next)
	if errBefore == nil && errAfter == nil {
		checkpoint.LoadPair(ctx, before, after)
	}
}

func (f *diffFlags) pairs(ctx context.Context, base, next *checkpoint.Snapshot) ([]pair, error) {
	var before, after []*checkpoint.Table
	var errBefore, errAfter error
	var g sync.WaitGroup
	f.load(ctx, base, next)
	g.Go(func() { before, errBefore = f.tables(ctx, base) })
	g.Go(func() { after, errAfter = f.tables(ctx, next) })
	g.Wait()
	missing := new(checkpoint.NotFoundError)
	if errBefore != nil && (!errors.As(errBefore, &missing) || errAfter != nil) {
		return nil, fmt.Errorf("base: %w", errBefore)
	}
	if errAfter != nil && !errors.As(errAfter, &missing) {
		return nil, fmt.Errorf("next: %w", errAfter)
	}
	var pairs []pair
	index := map[string]int{}
	for _, t := range before {
		index[t.Operator.ID+"/"+t.Name] = len(pairs)
		pairs = append(pairs, pair{base: t})
	}
	for _, t := range after {
		if i, ok := index[t.Operator.ID+"/"+t.Name]; ok {
			pairs[i].next = t
			continue
		}
		pairs = append(pairs, pair{next: t})
	}
	return pairs, nil
}

var diffColumns = append(append([]render.Column{{Name: "op", Type: "string"}}, genericColumns[:8]...),
	render.Column{Name: "before", Type: "json", Nullable: true}, render.Column{Name: "after", Type: "json", Nullable: true},
	render.Column{Name: "ttl_ts", Type: "int64", Nullable: true})

var summaryColumns = []render.Column{
	{Name: "operator", Type: "string"}, {Name: "state", Type: "string"},
	{Name: "created", Type: "int64"}, {Name: "updated", Type: "int64"}, {Name: "deleted", Type: "int64"},
}

func (f *diffFlags) print(ctx context.Context, pairs []pair, format render.Format, out, stderr io.Writer) error {
	columns := diffColumns
	if f.summary {
		columns = summaryColumns
	}
	w, err := render.New(format, out, columns, renderOptions())
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if f.state == "" && !p.table().Keyed() {
			fmt.Fprintf(stderr, "statebridge: state %q of operator %s is operator state, which has no keys and is not compared\n", p.table().Name, p.table().Operator)
			continue
		}
		gone := f.gone[p.table().Operator.ID]
		groups := checkpoint.AllKeyGroups(p.table().MaxParallelism()).Without(gone)
		if len(groups) == 0 {
			continue // which was told
		}
		if len(gone) == 0 && (p.base == nil || p.next == nil) {
			side := "base"
			if p.next == nil {
				side = "next"
			}
			fmt.Fprintf(stderr, "statebridge: %s has no state %q of %s\n", side, p.table().Name, p.table().Operator.Title())
		}
		counts, err := f.one(ctx, p, groups, w, stderr)
		if err != nil {
			return err
		}
		if f.summary {
			line := fmt.Appendf(nil, `{"operator":%s,"state":%s,"created":%d,"updated":%d,"deleted":%d}`, quote(p.table().Operator.String()), quote(p.table().Name),
				counts[differ.Create], counts[differ.Update], counts[differ.Delete])
			if err := w.Write(line); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func (f *diffFlags) one(ctx context.Context, p pair, groups []checkpoint.KeyGroups, w render.Writer, stderr io.Writer) (map[differ.Op]int, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	t := p.table()
	if !t.Keyed() {
		return nil, fmt.Errorf("state %q of operator %s: operator state has no keys and can't be compared", t.Name, t.Operator)
	}
	l := newLiner(t)
	counts := map[differ.Op]int{}
	var base, next differ.Table = absent{t}, absent{t}
	if p.base != nil {
		base = p.base
	}
	if p.next != nil {
		next = p.next
	}
	options := differ.Options{TempDir: o.TempDir, Memory: o.Memory}
	if f.explain {
		options.Explain = func(s differ.Step) {
			fmt.Fprintf(stderr, "statebridge: state %q of %s: %s\n", t.Name, t.Operator.Title(), s)
		}
	}
	for _, g := range groups {
		for c, err := range differ.Diff(ctx, base, next, g, options) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Operator.Title(), err)
			}
			counts[c.Op]++
			if f.summary {
				continue
			}
			if err := w.Write(l.change(c)); err != nil {
				return nil, err
			}
		}
	}
	return counts, nil
}

// absent is a table of which a snapshot has nothing.
type absent struct{ like *checkpoint.Table }

func (a absent) MaxParallelism() int { return a.like.MaxParallelism() }

func (a absent) Cursor(context.Context, checkpoint.KeyGroups) (checkpoint.Cursor, error) {
	return nothing{}, nil
}

type nothing struct{}

func (nothing) Next() bool            { return false }
func (nothing) Key() []byte           { return nil }
func (nothing) Value() []byte         { return nil }
func (nothing) Schema() *state.Schema { return nil }
func (nothing) Err() error            { return nil }
func (nothing) Close() error          { return nil }
