package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

type compatFlags struct {
	snapshotFlags
	output string
}

func newCompat() *cobra.Command {
	f := &compatFlags{}
	cmd := &cobra.Command{
		Use:   "compat BASE NEXT",
		Short: "Compare the schemas of two snapshots",
		Long: `Compat names what differs between the schemas of two snapshots, state by state: states and operators that came or went, fields that were added,
removed, reordered or widened, enum constants, serializers. It says what Flink makes of it when a job with the schemas of NEXT is restored from BASE: compatible (bytes
stay as they are), needs migration (values are rewritten at the restore), or incompatible (the restore is refused).

It reads descriptions only, no rows. The exit code is 0 whatever the verdict.`,
		Example: `  statebridge compat savepoint-old savepoint-new
  statebridge compat chk-41 chk-42 --output json`,
		Args: exactly("BASE", "NEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
	f.snapshotFlags.register(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "`FORMAT`: table or json")
	return cmd
}

func (f *compatFlags) run(ctx context.Context, baseAt, nextAt string, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return usagef("--output %q: table or json is expected", f.output)
	}
	base, err := f.open(ctx, baseAt)
	if err != nil {
		return fmt.Errorf("base: %w", err)
	}
	defer base.Close()
	next, err := f.open(ctx, nextAt)
	if err != nil {
		return fmt.Errorf("next: %w", err)
	}
	defer next.Close()
	for _, snap := range []*checkpoint.Snapshot{base, next} {
		if err := ofFlink(snap, "compat", "it holds no schema to compare"); err != nil {
			return err
		}
	}
	report, err := compare(ctx, base, next)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return printJSON(out, report)
	}
	return report.print(out)
}

type compatReport struct {
	Base      string           `json:"base"`
	Next      string           `json:"next"`
	Verdict   state.Verdict    `json:"verdict"` // the worst of all
	Operators []operatorCompat `json:"operators"`
}

type operatorCompat struct {
	ID          string             `json:"id"`
	UID         string             `json:"uid,omitempty"`
	Name        string             `json:"name,omitempty"`
	Error       string             `json:"error,omitempty"`
	Differences []state.Difference `json:"differences"`
	States      []stateCompat      `json:"states"`
}

type stateCompat struct {
	Name        string             `json:"name"`
	Kind        state.Kind         `json:"kind"`
	Verdict     state.Verdict      `json:"verdict"`
	Differences []state.Difference `json:"differences"`
}

func compare(ctx context.Context, base, next *checkpoint.Snapshot) (*compatReport, error) {
	r := &compatReport{Base: base.Location, Next: next.Location}
	seen := map[string]bool{}
	for _, a := range base.Operators() {
		seen[a.ID] = true
		b, err := next.Operator(a.ID)
		if missing := new(checkpoint.NotFoundError); err != nil && !errors.As(err, &missing) {
			return nil, err
		}
		if err := r.operator(ctx, a, b, next.Metadata.Flink2()); err != nil {
			return nil, err
		}
	}
	for _, b := range next.Operators() {
		if !seen[b.ID] {
			if err := r.operator(ctx, nil, b, next.Metadata.Flink2()); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range r.Operators {
		r.Verdict = max(r.Verdict, state.Worst(o.Differences))
		for _, s := range o.States {
			r.Verdict = max(r.Verdict, s.Verdict)
		}
	}
	return r, nil
}

// operator compares one operator, which one of the two snapshots may lack.
func (r *compatReport) operator(ctx context.Context, a, b *checkpoint.Operator, nextMigratesTTL bool) error {
	before, errA := tablesOf(ctx, a)
	after, errB := tablesOf(ctx, b)
	shown := b
	if b == nil {
		shown = a
	}
	o := operatorCompat{ID: shown.ID, UID: shown.UID, Name: shown.Name, Differences: []state.Difference{}, States: []stateCompat{}}
	if err := errors.Join(errA, errB); err != nil {
		if !errors.Is(err, fault.ErrUnsupported) {
			return err
		}
		o.Error = err.Error()
		r.Operators = append(r.Operators, o)
		return nil
	}
	if len(before)+len(after) == 0 {
		return nil // without state there is nothing to restore
	}
	switch {
	case b == nil:
		o.Differences = append(o.Differences, state.Difference{What: "operator dropped", Effect: state.Incompatible, Why: "a job without it is restored with --allowNonRestoredState only"})
	case a == nil:
		o.Differences = append(o.Differences, state.Difference{What: "operator added"})
	case a.MaxParallelism != b.MaxParallelism:
		o.Differences = append(o.Differences, state.Difference{What: "max parallelism changed", Before: fmt.Sprint(a.MaxParallelism), After: fmt.Sprint(b.MaxParallelism), Effect: state.Incompatible})
	}
	if a != nil && b != nil {
		o.states(before, after)
		if !nextMigratesTTL {
			for i := range o.States {
				state.RefuseTTL(o.States[i].Differences)
				o.States[i].Verdict = state.Worst(o.States[i].Differences)
			}
		}
	}
	r.Operators = append(r.Operators, o)
	return nil
}

func tablesOf(ctx context.Context, o *checkpoint.Operator) ([]*checkpoint.Table, error) {
	if o == nil {
		return nil, nil
	}
	return o.Tables(ctx)
}

func (o *operatorCompat) states(before, after []*checkpoint.Table) {
	find := func(tables []*checkpoint.Table, t *checkpoint.Table) *checkpoint.Table {
		for _, u := range tables {
			if u.Name == t.Name && u.Keyed() == t.Keyed() {
				return u
			}
		}
		return nil
	}
	for _, t := range before {
		s := stateCompat{Name: t.Name, Kind: t.Kind, Differences: []state.Difference{}}
		if u := find(after, t); u != nil {
			s.Differences = append(s.Differences, state.Compare(t.Schema(), u.Schema())...)
		} else {
			s.Differences = append(s.Differences, state.Difference{What: "state dropped"})
		}
		s.Verdict = state.Worst(s.Differences)
		o.States = append(o.States, s)
	}
	for _, t := range after {
		if find(before, t) == nil {
			o.States = append(o.States, stateCompat{Name: t.Name, Kind: t.Kind, Differences: []state.Difference{{What: "state added"}}})
		}
	}
}

func (r *compatReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "base\t%s\nnext\t%s\nverdict\t%s\n", r.Base, r.Next, r.Verdict)
	for _, o := range r.Operators {
		fmt.Fprintf(w, "\noperator %s\n", firstOf(o.UID, o.Name, o.ID))
		if o.Error != "" {
			fmt.Fprintf(w, "  not read\t%s\n", o.Error)
		}
		for _, d := range o.Differences {
			printDifference(w, "", d.Effect.String(), d)
		}
		if len(o.States) > 0 {
			fmt.Fprintf(w, "  STATE\tVERDICT\tDIFFERENCE\tWHERE\tBEFORE\tAFTER\n")
		}
		for _, s := range o.States {
			s.print(w)
		}
	}
	return w.Flush()
}

func (s *stateCompat) print(w io.Writer) {
	if len(s.Differences) == 0 {
		fmt.Fprintf(w, "  %s\t%s\tnone\n", s.Name, s.Verdict)
	}
	for i, d := range s.Differences {
		if i == 0 {
			printDifference(w, s.Name, s.Verdict.String(), d)
			continue
		}
		printDifference(w, "", "", d)
	}
}

func printDifference(w io.Writer, name, verdict string, d state.Difference) {
	what := d.What
	if d.Why != "" {
		what += " (" + d.Why + ")"
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", name, verdict, what, d.Path, d.Before, d.After)
}
