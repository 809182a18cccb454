package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/planner"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

type inspectFlags struct {
	snapshotFlags
	output string
	rows   string
}

// countBelow is the size of a snapshot in bytes up to which rows are counted without being asked.
const countBelow = 256 << 20

func newInspect() *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect SNAPSHOT [NEXT]",
		Short: "Show the operators and states of a snapshot",
		Long: `Inspect lists the operators of a snapshot with their key groups, and each state with its kind, types, size and number of rows. Counting rows reads the
state, so it is done unasked for snapshots of up to 256 MiB only. What cannot be read is listed with the reason. An operator of
Flink SQL is shown with its kind, and what its states hold.

With a second snapshot it compares the schemas of both, as compat does.`,
		Example: `  statebridge inspect /flink/checkpoints/4f0c…/chk-42
  statebridge inspect chk-42 --output json --rows none`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly("SNAPSHOT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				c := &compatFlags{snapshotFlags: f.snapshotFlags, output: f.output}
				err := c.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
				f.hints = c.hints
				return err
			}
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.snapshotFlags.register(cmd)
	f.registerSchema(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "`FORMAT`: table or json")
	cmd.Flags().StringVar(&f.rows, "rows", "auto", "`WHEN` to count rows: auto, exact or none")
	return cmd
}

func (f *inspectFlags) run(ctx context.Context, location string, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return usagef("--output %q: table or json is expected", f.output)
	}
	if f.rows != "auto" && f.rows != "exact" && f.rows != "none" {
		return usagef("--rows %q: auto, exact or none is expected", f.rows)
	}
	snap, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer snap.Close()
	report, err := describe(ctx, snap, f.rows)
	if err != nil {
		return err
	}
	damaged := slices.ContainsFunc(report.Operators, func(o operatorReport) bool { return o.damaged })
	if damaged {
		for _, err := range snap.Unresolved(ctx) {
			report.Unresolved = append(report.Unresolved, err.Error())
		}
	}
	if f.output == "json" {
		err = printJSON(out, report)
	} else {
		err = report.print(out)
	}
	if err == nil && damaged {
		return errors.New("parts of the snapshot are missing or damaged; they are named above")
	}
	return err
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type snapshotReport struct {
	Location     string           `json:"location"`
	CheckpointID int64            `json:"checkpoint_id"`
	Version      int              `json:"metadata_version"`
	Kind         string           `json:"kind,omitempty"`
	Format       string           `json:"format,omitempty"`
	Bucket       *bucketReport    `json:"bucket,omitempty"` // of Fluss
	Size         int64            `json:"bytes"`
	Operators    []operatorReport `json:"operators"`
	Unresolved   []string         `json:"unresolved,omitempty"` // files that are not found; looked for when something is not read
}

type operatorReport struct {
	ID             string        `json:"id,omitempty"`
	UID            string        `json:"uid,omitempty"`
	Name           string        `json:"name,omitempty"`
	Parallelism    int           `json:"parallelism"`
	MaxParallelism int           `json:"max_parallelism"`
	Finished       bool          `json:"finished,omitempty"`
	Backend        string        `json:"backend,omitempty"`
	SQL            *sqlReport    `json:"sql,omitempty"`
	Size           int64         `json:"bytes"`
	Notes          []string      `json:"notes,omitempty"`
	Error          string        `json:"error,omitempty"`
	States         []stateReport `json:"states"`

	damaged bool // something that should be readable is not
}

// sqlReport says which operator of the Table planner it is.
type sqlReport struct {
	Kind    string `json:"kind"`
	Does    string `json:"does"`
	ByState bool   `json:"by_state,omitempty"` // the snapshot has no name for it, and it is the states' names that tell
}

type stateReport struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Key       string `json:"key,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	MapKey    string `json:"map_key,omitempty"`
	Value     string `json:"value,omitempty"`
	TTL       bool   `json:"ttl,omitempty"`
	Holds     string `json:"holds,omitempty"` // of a SQL operator
	Size      *int64 `json:"bytes,omitempty"`
	Rows      *int64 `json:"rows,omitempty"`
	Error     string `json:"error,omitempty"`
}

func describe(ctx context.Context, snap *checkpoint.Snapshot, rows string) (*snapshotReport, error) {
	r := &snapshotReport{Location: snap.Location, CheckpointID: snap.ID(), Version: snap.Metadata.Version}
	if p := snap.Metadata.Properties; p != nil {
		r.Kind, r.Format = strings.ToLower(p.Type), strings.ToLower(string(p.Format))
	}
	if snap.Fluss != nil {
		r.Kind, r.Bucket = "fluss kv", bucketOf(snap.Fluss)
	}
	sizes := snap.Sizes()
	for _, n := range sizes {
		r.Size += n
	}
	count := rows == "exact" || rows == "auto" && r.Size <= countBelow
	for _, o := range snap.Operators() {
		op, err := describeOperator(ctx, o, count)
		if err != nil {
			return nil, err
		}
		op.Size = sizes[o.ID]
		r.Operators = append(r.Operators, op)
	}
	return r, nil
}

func describeOperator(ctx context.Context, o *checkpoint.Operator, count bool) (operatorReport, error) {
	r := operatorReport{
		ID: o.ID, UID: o.UID, Name: o.Name, Parallelism: o.Parallelism, MaxParallelism: o.MaxParallelism, Finished: o.Finished,
		Backend: backend(o), Notes: notes(o), States: []stateReport{},
	}
	tables, err := o.Tables(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return r, err
		}
		r.fail(err)
	}
	r.Notes = append(r.Notes, o.Notes()...)
	for _, t := range tables {
		s, err := describeTable(ctx, t, count)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			s.Error = err.Error()
			r.damaged = r.damaged || !errors.Is(err, fault.ErrUnsupported)
		}
		r.States = append(r.States, s)
	}
	r.explain(tables)
	return r, nil
}

// explain says what a SQL operator is, and what its states hold.
func (o *operatorReport) explain(tables []*checkpoint.Table) {
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	kind := planner.Find(o.UID, o.Name, names)
	if kind == nil {
		return
	}
	o.SQL = &sqlReport{Kind: kind.Kind, Does: kind.Does, ByState: kind.ByState}
	for i, t := range tables {
		s := t.Schema()
		o.States[i].Holds = kind.Holds(t.Name, planner.Shape{MapKey: typeOf(s.MapKey), Value: typeOf(s.Value)})
	}
}

func typeOf(c state.Codec) *state.Type {
	if c == nil {
		return nil
	}
	return c.Type()
}

func describeTable(ctx context.Context, t *checkpoint.Table, count bool) (stateReport, error) {
	s := t.Schema()
	r := stateReport{
		Name: t.Name, Kind: string(t.Kind), TTL: s.TTL,
		Key: typeName(s.Key), Namespace: typeName(s.Namespace), MapKey: typeName(s.MapKey), Value: typeName(s.Value),
	}
	if n := t.Size(); n >= 0 {
		r.Size = &n
	}
	if !count {
		return r, nil
	}
	n, err := t.Count(ctx)
	if err != nil {
		return r, err
	}
	r.Rows = &n
	return r, nil
}

// fail notes why an operator can't be read: what is not supported is told, anything else is damage.
func (o *operatorReport) fail(err error) {
	o.Error = err.Error()
	o.damaged = o.damaged || !errors.Is(err, fault.ErrUnsupported)
}

func typeName(c state.Codec) string {
	if c == nil || c.Type().Kind == state.Null {
		return ""
	}
	return c.Type().String()
}

// backend names the kinds of handle that hold the operator's keyed state.
func backend(o *checkpoint.Operator) string {
	for _, s := range o.Subtasks {
		switch h := s.ManagedKeyed.(type) {
		case *flink.KeyGroupsHandle:
			if h.Canonical {
				return "canonical"
			}
			return "heap"
		case *flink.IncrementalHandle:
			return "rocksdb"
		case *flink.ChangelogHandle, *flink.ChangelogBytesHandle, *flink.ChangelogFilesHandle:
			return "changelog"
		}
	}
	return ""
}

// notes says what the operator has besides its states.
func notes(o *checkpoint.Operator) (notes []string) {
	channels, inFlight := 0, int64(0)
	for _, s := range o.Subtasks {
		for _, c := range slices.Concat(s.InputChannels, s.OutputChannels) {
			channels++
			inFlight += c.Size
		}
	}
	if n := o.FinishedNote(); n != "" {
		notes = append(notes, n)
	}
	if channels > 0 {
		notes = append(notes, fmt.Sprintf("in-flight records in %d channel handles, %s, which are no state", channels, bytesText(inFlight)))
	}
	return notes
}

func (r *snapshotReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "snapshot\t%s\n", r.Location)
	if r.Bucket != nil {
		fmt.Fprintf(w, "snapshot id\t%d\n", r.CheckpointID)
		r.Bucket.print(w)
	} else {
		fmt.Fprintf(w, "checkpoint id\t%d\n", r.CheckpointID)
	}
	fmt.Fprintf(w, "kind\t%s\n", strings.TrimSpace(r.Kind+" "+r.Format))
	fmt.Fprintf(w, "metadata version\t%d\n", r.Version)
	fmt.Fprintf(w, "size\t%s\n", bytesText(r.Size))
	for _, o := range r.Operators {
		o.print(w)
	}
	if len(r.Unresolved) > 0 {
		fmt.Fprintf(w, "\nfiles that are not found\n")
	}
	for _, u := range r.Unresolved {
		fmt.Fprintf(w, "  %s\n", u)
	}
	return w.Flush()
}

func (o *operatorReport) print(w io.Writer) {
	if o.ID != "" {
		fmt.Fprintf(w, "\noperator %s\n", firstOf(o.UID, o.Name, o.ID))
		fmt.Fprintf(w, "  id\t%s\n", o.ID)
		if o.Name != "" {
			fmt.Fprintf(w, "  name\t%s\n", o.Name)
		}
		fmt.Fprintf(w, "  key groups\t%d over %d subtasks\n", o.MaxParallelism, o.Parallelism)
	} else {
		fmt.Fprintf(w, "\ntable\n") // of Fluss
	}
	if o.Backend != "" {
		fmt.Fprintf(w, "  backend\t%s\n", o.Backend)
	}
	if o.SQL != nil {
		fmt.Fprintf(w, "  sql\t%s\n", o.SQL)
	}
	fmt.Fprintf(w, "  size\t%s\n", bytesText(o.Size))
	for _, n := range o.Notes {
		fmt.Fprintf(w, "  note\t%s\n", n)
	}
	if o.Error != "" {
		fmt.Fprintf(w, "  not read\t%s\n", o.Error)
	}
	if len(o.States) == 0 {
		return
	}
	fmt.Fprintf(w, "  STATE\tKIND\tROWS\tSIZE\tKEY\tNAMESPACE\tMAP KEY\tVALUE\n")
	for _, s := range o.States {
		s.print(w)
	}
	var told []string // a fault that stands before several states is told once
	for _, s := range o.States {
		if s.Error != "" && !slices.Contains(told, s.Error) {
			told = append(told, s.Error)
			fmt.Fprintf(w, "  not read: %s\n", s.Error)
		}
	}
	for _, s := range o.States {
		if s.Holds != "" {
			fmt.Fprintf(w, "  %s\tholds %s\n", s.Name, s.Holds)
		}
	}
}

func (s *sqlReport) String() string {
	text := s.Kind + ": " + s.Does
	if s.ByState {
		text += " (by the names of its states)"
	}
	return text
}

func (s *stateReport) print(w io.Writer) {
	rows, size := "?", "?"
	if s.Rows != nil {
		rows = fmt.Sprint(*s.Rows)
	}
	if s.Size != nil {
		size = bytesText(*s.Size)
	}
	if s.Error != "" {
		rows = "not read"
	}
	value := s.Value
	if s.TTL {
		value += " (TTL)"
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, rows, size, s.Key, s.Namespace, s.MapKey, value)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	div, exp := int64(unit), 0
	for m := n / unit; m >= unit; m /= unit {
		div *= unit
		exp++
	}
	return fmt.Sprintf("%.1f %ciB", float64(n)/float64(div), "KMGTPE"[exp])
}
