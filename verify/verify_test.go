package verify_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
	"github.com/statebridge/statebridge/verify"
)

var live = feed.Consumer{Name: "live", Operator: "live-op", State: "seen"}

// rig is a SQLite file beside a job of which chk-1 and chk-4 hold 60 rows and chk-3 holds 10 of them.
type rig struct {
	*verify.Check
	t    *testing.T
	job  string
	sink *sqlite.Sink
	file string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, job: fixture.One(t, fixture.Unpack(t, fixture.Ended), "checkpoints/*"), file: filepath.Join(t.TempDir(), "x.db")}
	var err error
	if r.sink, err = sqlite.Open(t.Context(), r.file, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.sink.Close() })
	temp := t.TempDir()
	r.Check = &verify.Check{
		Sink: r.sink, Source: "s", Consumer: live, TempDir: temp, Log: slog.New(slog.DiscardHandler),
		Snapshots: &verify.Snapshots{Store: storage.Local(), TempDir: temp},
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
	return r
}

func (r *rig) snapshot(n int) string { return filepath.Join(r.job, fmt.Sprintf("chk-%d", n)) }

// stand makes the target claim checkpoint n, with the rows of checkpoint rows.
func (r *rig) stand(n, rows int) {
	r.t.Helper()
	ctx := r.t.Context()
	snap, err := checkpoint.Open(ctx, r.snapshot(rows), checkpoint.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer snap.Close()
	table, err := snap.Table(ctx, live.Operator, live.State)
	if err != nil {
		r.t.Fatal(err)
	}
	columns, wire, err := live.Project(table.Schema())
	if err != nil {
		r.t.Fatal(err)
	}
	t := sinks.Table{Source: "s", Consumer: "live", Columns: wire}
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	must(r.sink.Prepare(ctx, t))
	at, err := r.sink.Position(ctx, t)
	must(err)
	to := stream.Epoch{Chain: "c", Number: at.Epoch + 1, Full: true, Snapshot: stream.SnapshotRef{Job: filepath.Base(r.job), CheckpointID: int64(n), Location: r.snapshot(n)}}
	tx, err := r.sink.Begin(ctx, t, at, to)
	must(err)
	p := state.NewProjection(columns)
	for row, err := range table.Rows(ctx, checkpoint.AllKeyGroups(table.MaxParallelism())) {
		must(err)
		key, err1 := p.AppendKey(nil, row)
		after, err2 := p.AppendRow(nil, row)
		must(errors.Join(err1, err2))
		must(tx.Apply(ctx, []stream.Change{{Op: 'r', Key: key, After: after}}))
	}
	must(tx.Commit(ctx))
}

// count runs the check and counts what it tells.
func (r *rig) count() (verify.Result, map[string]int, error) {
	r.t.Helper()
	told := map[string]int{}
	result, err := r.Run(r.t.Context(), func(d sinks.Difference) error { told[d.Kind]++; return nil })
	return result, told, err
}

// stale is a sink whose tables stand where the test says, one place a call.
type stale struct {
	sinks.Sink
	at []sinks.Position
}

func (s *stale) Position(context.Context, sinks.Table) (sinks.Position, error) {
	at := s.at[0]
	if len(s.at) > 1 {
		s.at = s.at[1:]
	}
	return at, nil
}

// TestTogether: positions count if nothing has moved while they were read.
func TestTogether(t *testing.T) {
	at := func(n int64) sinks.Position {
		return sinks.Position{Chain: "c", Snapshot: stream.SnapshotRef{CheckpointID: n}}
	}
	tables := []sinks.Table{{Consumer: "a"}, {Consumer: "b"}}
	for name, c := range map[string]struct {
		at   []sinks.Position
		want string
	}{
		"the same":         {[]sinks.Position{at(1)}, ""},
		"moved meanwhile":  {[]sinks.Position{at(1), at(2), at(2), at(2), at(2)}, ""},
		"different places": {[]sinks.Position{at(1), at(2), at(1), at(2)}, "a at checkpoint 1 of job , b at checkpoint 2"},
		"one nowhere":      {[]sinks.Position{{}, at(2), {}, at(2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := verify.Together(t.Context(), &stale{at: c.at}, tables, time.Minute)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
	moving := &stale{}
	for n := range int64(100) {
		moving.at = append(moving.at, at(n))
	}
	if err := verify.Together(t.Context(), moving, tables, 0); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("%v", err)
	}
}

func TestEqual(t *testing.T) {
	r := newRig(t)
	r.stand(1, 1)
	if result, told, err := r.count(); err != nil || result.Rows != 60 || result.Differences() != 0 || len(told) > 0 {
		t.Errorf("%+v, %v, %v", result, told, err)
	}
}

// TestRepairInParts: what is put right at once is bounded, and all is put right nevertheless.
func TestRepairInParts(t *testing.T) {
	for name, c := range map[string]struct{ claimed, held, missing, extra int }{"missing": {1, 3, 50, 0}, "extra": {3, 1, 0, 50}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.Repair, r.MendRows = true, 20
			r.stand(c.claimed, c.held)
			result, told, err := r.count()
			if err != nil || told[sinks.Missing] != c.missing || told[sinks.Extra] != c.extra || result.Mended != 50 {
				t.Errorf("%+v, %v, %v", result, told, err)
			}
			r.Repair = false
			if result, _, err := r.count(); err != nil || result.Differences() != 0 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// TestRepairBesideRefusedRows: what the target can't hold is told each time, keeps nothing else from being put right, and is not tried for ever.
func TestRepairBesideRefusedRows(t *testing.T) {
	r := newRig(t)
	r.stand(1, 1)
	db, err := sql.Open("sqlite", r.file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE refused AS SELECT key FROM live LIMIT 2", "DELETE FROM live WHERE key IN (SELECT key FROM live LIMIT 5)",
		"CREATE TRIGGER guard BEFORE INSERT ON live WHEN EXISTS (SELECT 1 FROM refused WHERE key = new.key) BEGIN SELECT RAISE(ABORT, 1); END",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	r.Repair = true
	for _, want := range []verify.Result{{Missing: 5, Mended: 3}, {Missing: 2}} {
		result, told, err := r.count()
		if err != nil || result.Missing != want.Missing || result.Mended != want.Mended || result.Differences() != want.Missing {
			t.Errorf("%+v, %v, %v; want %+v", result, told, err, want)
		}
	}
}

// TestOtherSnapshot: a target is compared with the one it stands at, and waited for when it is behind.
func TestOtherSnapshot(t *testing.T) {
	r := newRig(t)
	r.stand(3, 3)
	other := new(verify.OtherError)
	for _, n := range []int{1, 4} {
		r.Snapshots.Only = r.snapshot(n)
		if _, _, err := r.count(); !errors.As(err, &other) || other.Target.CheckpointID != 3 {
			t.Errorf("chk-%d: %v", n, err)
		}
	}
	r.Wait = time.Minute
	done := make(chan error)
	go func() {
		_, _, err := r.count()
		done <- err
	}()
	time.Sleep(400 * time.Millisecond)
	r.stand(4, 4)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// moving is a target that moves between the look at its position and the comparison.
type moving struct {
	*sqlite.Sink
	moves []func()
}

func (m *moving) Verify(ctx context.Context, t sinks.Table, at sinks.Position, dir string) (sinks.Verification, error) {
	if len(m.moves) > 0 {
		m.moves[0]()
		m.moves = slices.Delete(m.moves, 0, 1)
	}
	return m.Sink.Verify(ctx, t, at, dir)
}

// Mend loses its place too.
func (m *moving) Mend(ctx context.Context, t sinks.Table, at sinks.Position, rows uint64, found []sinks.Difference) error {
	if len(m.moves) > 0 {
		m.moves[0]()
		m.moves = slices.Delete(m.moves, 0, 1)
	}
	return m.Sink.Mend(ctx, t, at, rows, found)
}

// TestTargetMoves while it is compared and while it is put right: never is something older written.
func TestTargetMoves(t *testing.T) {
	r := newRig(t)
	r.stand(1, 3)
	r.Sink, r.Repair = &moving{r.sink, []func(){func() { r.stand(3, 3) }}}, true
	if _, _, err := r.count(); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("without patience: %v", err)
	}
	r.stand(1, 3)
	r.Wait = time.Minute
	nothing := func() {}
	r.Sink = &moving{r.sink, []func(){nothing, func() { r.stand(3, 3) }}}
	result, told, err := r.count()
	if err != nil || result.Snapshot.CheckpointID != 3 || len(told) != 0 || result.Mended != 0 {
		t.Errorf("%+v, %v, %v", result, told, err)
	}
}

// TestNoEpoch and a snapshot that is gone are errors that say so.
func TestNoEpoch(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.count(); err == nil {
		t.Error("compared with nothing")
	}
	r.stand(9, 1)
	if _, _, err := r.count(); err == nil {
		t.Error("compared with a snapshot that is not there")
	}
}
