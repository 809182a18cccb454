package feed_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
)

// rig is a source with one feed, over a job's directory to which checkpoints are brought one by one.
type rig struct {
	t        testing.TB
	all, job string // where the fixture lies whole, and what the feed watches
	data     string
	bus      *stream.Bus
	source   *stream.Source
	registry *registry.Registry
	consumer feed.Consumer
	others   []feed.Consumer // that step together with it
	guard    feed.Guard
	answer   *feed.Answer
}

var quiet = slog.New(slog.DiscardHandler)

func newRig(t testing.TB, archive string, c feed.Consumer) *rig {
	t.Helper()
	dir := fixture.Unpack(t, archive)
	r := &rig{t: t, all: fixture.One(t, dir, "checkpoints/*"), data: t.TempDir(), consumer: c}
	r.job = filepath.Join(t.TempDir(), filepath.Base(r.all))
	var err error
	if r.bus, err = stream.Connect(t.Context(), stream.Options{Dir: filepath.Join(r.data, "nats")}, quiet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.bus.Close() })
	if r.source, err = r.bus.Source(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if r.registry, err = registry.Open(t.Context(), r.source); err != nil {
		t.Fatal(err)
	}
	return r
}

// feed opens the feed anew, as after a restart.
func (r *rig) feed() *feed.Feed {
	r.t.Helper()
	pins, err := checkpoint.OpenPins(filepath.Join(r.data, "pins"), storage.Local())
	if err != nil {
		r.t.Fatal(err)
	}
	watch := &feed.Watch{Store: storage.Local(), Checkpoints: filepath.Dir(r.job), Poll: time.Millisecond, Log: quiet}
	consumers := append([]feed.Consumer{r.consumer}, r.others...)
	for i := range consumers {
		consumers[i].Guard, consumers[i].Answer = r.guard, r.answer
	}
	return feed.New(consumers, feed.Options{Partitions: 3, Keep: time.Hour}, watch, pins, r.source, r.registry, quiet)
}

// arrive brings checkpoint n, with every file that it may need.
func (r *rig) arrive(n int) { r.t.Helper(); r.arriveAs(n, n) }

// arriveAs brings checkpoint n under another number.
func (r *rig) arriveAs(n, number int) {
	r.t.Helper()
	own := fmt.Sprintf("chk-%d", n)
	for from, to := range map[string]string{"shared": "shared", "taskowned": "taskowned", own: fmt.Sprintf("chk-%d", number)} {
		from := filepath.Join(r.all, from)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := copyDir(filepath.Join(r.job, to), from); err != nil {
			r.t.Fatal(err)
		}
	}
}

func copyDir(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, b, 0o644)
	})
}

func (r *rig) leave(n int) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.job, fmt.Sprintf("chk-%d", n))); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) once(f *feed.Feed) stream.Epoch {
	r.t.Helper()
	epochs, err := f.Once(r.t.Context(), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.own(epochs)
}

// own gives the epoch of the rig's first consumer.
func (r *rig) own(epochs []stream.Epoch) stream.Epoch {
	for _, e := range epochs {
		if e.Consumer == r.consumer.Name {
			return e
		}
	}
	return stream.Epoch{}
}

// mirror is what a sink would hold.
type mirror struct {
	chain string
	epoch uint64
	rows  map[string]string
}

// follow applies every epoch up to e as a sink does.
func (m *mirror) follow(r *rig, upTo stream.Epoch) {
	r.t.Helper()
	for m.chain != upTo.Chain || m.epoch < upTo.Number {
		e, err := r.source.Next(r.t.Context(), r.consumer.Name, m.chain, m.epoch)
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Full {
			m.rows = map[string]string{}
		}
		for batch, err := range r.source.Changes(r.t.Context(), e) {
			if err != nil {
				r.t.Fatal(err)
			}
			for _, c := range batch {
				if c.Op == 'd' {
					delete(m.rows, string(c.Key))
				} else {
					m.rows[string(c.Key)] = string(c.After)
				}
			}
		}
		m.chain, m.epoch = e.Chain, e.Number
	}
}

// rows gives what checkpoint n holds, by the same columns.
func (r *rig) rows(n int) map[string]string {
	r.t.Helper()
	s, err := checkpoint.Open(r.t.Context(), filepath.Join(r.all, fmt.Sprintf("chk-%d", n)), checkpoint.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Table(r.t.Context(), r.consumer.Operator, r.consumer.State)
	if err != nil {
		r.t.Fatal(err)
	}
	p, out := state.NewProjection(state.DefaultColumns(table.Schema())), map[string]string{}
	for row, err := range table.Rows(r.t.Context(), checkpoint.AllKeyGroups(table.MaxParallelism())) {
		if err != nil {
			r.t.Fatal(err)
		}
		key, err1 := p.AppendKey(nil, row)
		value, err2 := p.AppendRow(nil, row)
		if err := errors.Join(err1, err2); err != nil {
			r.t.Fatal(err)
		}
		out[string(key)] = string(value)
	}
	return out
}

func (r *rig) same(m *mirror, n int) {
	r.t.Helper()
	if want := r.rows(n); !maps.Equal(m.rows, want) {
		r.t.Errorf("the mirror has %d rows and checkpoint %d has %d, or they differ", len(m.rows), n, len(want))
	}
}

var customers = feed.Consumer{Name: "customers", Operator: "customers-op", State: "customer"}

// TestStepByStep: a full epoch, then one a checkpoint, with every one mirrored exactly, across restarts of the feed.
func TestStepByStep(t *testing.T) {
	for _, s := range []string{"customer", "purchases", "notes", "total"} {
		t.Run(s, func(t *testing.T) {
			c := customers
			c.State = s
			r, m := newRig(t, fixture.RocksDB, c), &mirror{}
			for n := 1; n <= 5; n++ {
				r.arrive(n)
				e := r.once(r.feed())
				if e.Full != (n == 1) || e.Number != uint64(n) || e.Snapshot.CheckpointID != int64(n) {
					t.Errorf("epoch %d of checkpoint %d, full: %t", e.Number, e.Snapshot.CheckpointID, e.Full)
				}
				if again := r.once(r.feed()); again.Number != e.Number {
					t.Errorf("nothing new, and yet epoch %d", again.Number)
				}
				m.follow(r, e)
				r.same(m, n)
			}
		})
	}
}

// TestDeletedCheckpointsCostNothing: the base and all between are gone from the job's directory.
func TestDeletedCheckpointsCostNothing(t *testing.T) {
	r, m := newRig(t, fixture.RocksDB, customers), &mirror{}
	r.arrive(1)
	m.follow(r, r.once(r.feed()))
	if err := os.RemoveAll(r.job); err != nil {
		t.Fatal(err)
	}
	r.arrive(5)
	e := r.once(r.feed())
	if e.Full || e.Base == nil || e.Base.CheckpointID != 1 {
		t.Errorf("epoch is full: %t, base %v", e.Full, e.Base)
	}
	m.follow(r, e)
	r.same(m, 5)
}

// TestLostPinGivesAFullEpoch which deletes what is no longer there.
func TestLostPinGivesAFullEpoch(t *testing.T) {
	r, m := newRig(t, fixture.RocksDB, customers), &mirror{}
	r.arrive(1)
	m.follow(r, r.once(r.feed()))
	if err := os.RemoveAll(filepath.Join(r.data, "pins")); err != nil {
		t.Fatal(err)
	}
	r.arrive(3)
	e := r.once(r.feed())
	if !e.Full {
		t.Error("a diff against a snapshot that nobody holds")
	}
	m.follow(r, e)
	r.same(m, 3)
}

// TestDamagedBaseGivesAFullEpoch: a pinned file lost a bit.
func TestDamagedBaseGivesAFullEpoch(t *testing.T) {
	r, m := newRig(t, fixture.RocksDB, customers), &mirror{}
	r.arrive(1)
	m.follow(r, r.once(r.feed()))
	fixture.Spoil(t, r.data, "pins/files/*", fixture.Flip)
	r.arrive(3)
	e := r.once(r.feed())
	if !e.Full {
		t.Error("a diff against a damaged snapshot")
	}
	m.follow(r, e)
	r.same(m, 3)
}

// TestBaseThatBreaksInTheMiddle: its head can be read, its rows cannot; the same call still publishes a full epoch.
func TestBaseThatBreaksInTheMiddle(t *testing.T) {
	r, m := newRig(t, fixture.Heap, feed.Consumer{Name: "seen", Operator: "users-op", State: "seen"}), &mirror{}
	r.arrive(1)
	m.follow(r, r.once(r.feed()))
	fixture.Spoil(t, r.data, "pins/files/*", func(b []byte) []byte {
		if binary.BigEndian.Uint32(b) == 0x4960672D { // the metadata stays as it is
			return nil
		}
		for i := len(b) / 2; i < len(b); i++ {
			b[i] = 0xEE
		}
		return b
	})
	r.arrive(2)
	e := r.once(r.feed())
	if !e.Full || e.Snapshot.CheckpointID != 2 {
		t.Errorf("epoch of checkpoint %d, full: %t", e.Snapshot.CheckpointID, e.Full)
	}
	m.follow(r, e)
	r.same(m, 2)
}

// TestUnreadableSnapshotPublishesNothing: the epoch stays where it was, and the next good snapshot goes on from there.
func TestUnreadableSnapshotPublishesNothing(t *testing.T) {
	r, m := newRig(t, fixture.RocksDB, customers), &mirror{}
	r.arrive(1)
	first := r.once(r.feed())
	m.follow(r, first)
	r.arrive(2)
	fixture.Spoil(t, r.job, "chk-2/_metadata", func(b []byte) []byte { b[0] ^= 0xFF; return b })
	if _, err := r.feed().Once(t.Context(), 0); !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
	r.leave(2)
	r.arrive(3)
	e := r.once(r.feed())
	if e.Number != first.Number+1 || e.Base == nil || e.Base.CheckpointID != 1 {
		t.Errorf("epoch %d over %v", e.Number, e.Base)
	}
	m.follow(r, e)
	r.same(m, 3)
}

// TestHalfWrittenSnapshotIsNotReady: it is passed over for the one before, and taken once it is whole.
func TestHalfWrittenSnapshotIsNotReady(t *testing.T) {
	r, m := newRig(t, fixture.RocksDB, customers), &mirror{}
	r.arrive(1)
	r.arrive(2)
	file := filepath.Join(r.job, "chk-2", "_metadata")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	f := r.feed()
	if e := r.once(f); e.Snapshot.CheckpointID != 1 {
		t.Errorf("checkpoint %d", e.Snapshot.CheckpointID)
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	e := r.once(f)
	if e.Snapshot.CheckpointID != 2 {
		t.Errorf("checkpoint %d", e.Snapshot.CheckpointID)
	}
	m.follow(r, e)
	r.same(m, 2)
}

// TestMissingOperatorIsNotATableWithoutRows: nothing is published, and the error names what there is.
func TestMissingOperatorIsNotATableWithoutRows(t *testing.T) {
	c := customers
	c.Operator = "renamed-op"
	r := newRig(t, fixture.RocksDB, c)
	r.arrive(1)
	_, err := r.feed().Once(t.Context(), 0)
	if missing := new(checkpoint.NotFoundError); !errors.As(err, &missing) || !strings.Contains(err.Error(), "customers-op") {
		t.Errorf("err = %v", err)
	}
	if _, ok, err := r.source.Head(t.Context(), c.Name); ok || err != nil {
		t.Errorf("published: %t, %v", ok, err)
	}
}

// TestResync: a sink that asks gets a full epoch, of the same snapshot if there is none newer.
func TestResync(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	r.arrive(1)
	r.once(r.feed())
	q := registry.Resync{Consumer: customers.Name, Sink: "pg", Reason: "the table is empty", Time: time.Now()}
	if err := r.registry.RequestResync(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	e := r.once(r.feed())
	if !e.Full || !e.Resync || e.Snapshot.CheckpointID != 1 || e.Number != 2 {
		t.Errorf("epoch %d of checkpoint %d, full %t, resync %t", e.Number, e.Snapshot.CheckpointID, e.Full, e.Resync)
	}
	if _, pending, err := r.registry.Resync(t.Context(), customers.Name); pending || err != nil {
		t.Errorf("still pending: %t, %v", pending, err)
	}
	m := &mirror{}
	m.follow(r, e)
	r.same(m, 1)
}

// TestChangedColumnsRewriteTheRows in a full epoch, since no row need have changed.
func TestChangedColumnsRewriteTheRows(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	r.consumer.Columns = []state.Mapping{{Name: "id", Path: "key"}, {Name: "name", Path: "value.name"}}
	r.arrive(1)
	r.once(r.feed())
	r.consumer.Columns = append(r.consumer.Columns, state.Mapping{Name: "age", Path: "value.age"})
	r.arrive(2)
	e := r.once(r.feed())
	if !e.Full || len(e.Columns) != 3 {
		t.Errorf("full: %t, columns %v", e.Full, e.Columns)
	}
	if e.Columns[2].Type == "string" {
		t.Fatal("the age is text already")
	}
	r.consumer.Columns[2].Text = true
	r.arrive(3)
	if e = r.once(r.feed()); !e.Full || e.Columns[2].Type != "string" {
		t.Errorf("as text, full: %t, columns %v", e.Full, e.Columns)
	}
}

// TestChangedConfigNeedsNoNewSnapshot: what the consumer mirrors now is published in full from the snapshot that is held; what is not there is an error.
func TestChangedConfigNeedsNoNewSnapshot(t *testing.T) {
	r := newRig(t, fixture.RocksDB, feed.Consumer{Name: "c", Operator: "customers-op", State: "total"})
	r.arrive(1)
	first := r.once(r.feed())
	r.consumer.State = "average"
	e := r.once(r.feed())
	if !e.Full || e.Number != first.Number+1 || e.State != "average" || e.Snapshot != first.Snapshot {
		t.Errorf("epoch %d of state %s, full: %t", e.Number, e.State, e.Full)
	}
	m := &mirror{}
	m.follow(r, e)
	r.same(m, 1)
	r.consumer.State = "nosuch"
	if _, err := r.feed().Once(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "average") {
		t.Errorf("a state that is not there: %v", err)
	}
}

// TestSameColumnsOfAnotherState are no base for a diff: the rows of one state would stay among those of the other.
func TestSameColumnsOfAnotherState(t *testing.T) {
	c := feed.Consumer{Name: "c", Operator: "customers-op", State: "total", Columns: []state.Mapping{{Name: "id", Path: "key"}, {Name: "v", Path: "value"}}}
	r := newRig(t, fixture.RocksDB, c)
	r.arrive(1)
	r.once(r.feed())
	r.consumer.State = "notes"
	r.arrive(2)
	if e := r.once(r.feed()); !e.Full || e.State != "notes" {
		t.Errorf("state %s, full: %t", e.State, e.Full)
	}
}

// TestOnceTellsThatTheNewestIsNotWhole after it has published the one before.
func TestOnceTellsThatTheNewestIsNotWhole(t *testing.T) {
	r := newRig(t, fixture.Heap, feed.Consumer{Name: "seen", Operator: "users-op", State: "seen"})
	r.arrive(1)
	r.arrive(2)
	data, err := filepath.Glob(filepath.Join(r.job, "chk-2", "[0-9a-f]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range data {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.feed().Once(t.Context(), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if e, ok, err := r.source.Head(t.Context(), "seen"); err != nil || !ok || e.Snapshot.CheckpointID != 1 {
		t.Errorf("published: %v, %v", e, err)
	}
}

// TestRunFollows until its context ends.
func TestRunFollows(t *testing.T) {
	r, m := newRig(t, fixture.Heap, feed.Consumer{Name: "seen", Operator: "users-op", State: "seen"}), &mirror{}
	ctx, cancel := context.WithCancel(t.Context())
	f, done := r.feed(), make(chan error)
	go func() { done <- f.Run(ctx) }()
	for n := 1; n <= 4; n++ {
		r.arrive(n)
		m.follow(r, r.await(n))
		r.same(m, n)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// await waits for the epoch of checkpoint n.
func (r *rig) await(n int) stream.Epoch {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		e, ok, err := r.source.Head(r.t.Context(), r.consumer.Name)
		if err != nil {
			r.t.Fatal(err)
		}
		if ok && e.Snapshot.CheckpointID == int64(n) {
			return e
		}
	}
	r.t.Fatalf("checkpoint %d is not published", n)
	return stream.Epoch{}
}

// TestTrimKeepsWhatASinkNeeds: epochs go once every sink has applied them, and no earlier.
func TestTrimKeepsWhatASinkNeeds(t *testing.T) {
	c := customers
	c.Sinks = []string{"slow"}
	r := newRig(t, fixture.RocksDB, c)
	f := r.feed() // one that knows what it published
	var last stream.Epoch
	for n := 1; n <= 4; n++ {
		r.arrive(n)
		last = r.once(f)
	}
	slow := &mirror{}
	slow.follow(r, last) // nothing was trimmed: it starts from epoch 1
	if slow.epoch != 4 {
		t.Errorf("epoch %d", slow.epoch)
	}
	r.same(slow, 4)
}

func TestRESTTellsWhatIsComplete(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	for n := 1; n <= 3; n++ {
		r.arrive(n)
	}
	job := filepath.Base(r.job)
	history := []map[string]any{
		{"id": 3, "status": "IN_PROGRESS"},
		{"id": 2, "status": "COMPLETED", "external_path": filepath.Join(r.job, "chk-2")},
		{"id": 7, "status": "COMPLETED", "is_savepoint": true, "external_path": "/elsewhere"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/jobs":
			_ = json.NewEncoder(w).Encode(map[string]any{"jobs": []map[string]string{{"id": job, "status": "RUNNING"}, {"id": "x", "status": "FINISHED"}}})
		case "/jobs/" + job + "/checkpoints":
			_ = json.NewEncoder(w).Encode(map[string]any{"history": history})
		default:
			http.NotFound(w, q)
		}
	}))
	defer server.Close()
	watch := &feed.Watch{Store: storage.Local(), Checkpoints: filepath.Dir(r.job), REST: &feed.REST{Base: server.URL}, Log: quiet}
	found, err := watch.Snapshots(t.Context())
	if err != nil || len(found) != 2 || found[1].ID != 2 {
		t.Errorf("%v, %v", found, err)
	}
	server.Close()
	watch = &feed.Watch{Store: storage.Local(), Checkpoints: filepath.Dir(r.job), REST: &feed.REST{Base: server.URL}, Log: quiet}
	if found, err := watch.Snapshots(t.Context()); err != nil || len(found) != 3 {
		t.Errorf("without the JobManager: %v, %v", found, err)
	}
}

// TestNoCheckpointYet: an empty directory is no error, and the warning names none.
func TestNoCheckpointYet(t *testing.T) {
	for dir, failed := range map[string]bool{t.TempDir(): false, filepath.Join(t.TempDir(), "none"): true} {
		var log strings.Builder
		watch := &feed.Watch{Store: storage.Local(), Checkpoints: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}
		if found, err := watch.Snapshots(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
		if got := log.String(); !strings.Contains(got, "no complete checkpoint yet") || strings.Contains(got, "error=") != failed {
			t.Errorf("the log says %q", got)
		}
	}
}
