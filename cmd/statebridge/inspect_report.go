package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/planner"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

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
