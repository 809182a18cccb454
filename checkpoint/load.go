package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	// openAtOnce bounds the subtasks whose heads are read side by side.
	openAtOnce = 32
	// maxMeta bounds the description of an incremental handle's states.
	maxMeta = 256 << 20
)

// Load reads the heads of several operators side by side. Their tables, and what is wrong with them, are there then.
func Load(ctx context.Context, operators []*Operator) {
	var g errgroup.Group
	g.SetLimit(openAtOnce)
	for _, o := range operators {
		g.Go(func() error {
			_, err := o.Tables(ctx)
			return err
		})
	}
	_ = g.Wait() // who asks for the tables is told
}

// load opens the state of every subtask and sorts it into tables.
func (o *Operator) load(ctx context.Context) ([]*Table, error) {
	if o.snapshot.Fluss != nil {
		return o.loadBucket(ctx)
	}
	loaded := make([][]part, len(o.Subtasks))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(openAtOnce)
	for i := range o.Subtasks {
		g.Go(func() (err error) {
			if loaded[i], err = o.openSubtask(gctx, &o.Subtasks[i]); err != nil {
				return fmt.Errorf("subtask %d: %w", o.Subtasks[i].Index, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	parts := slices.Concat(loaded...)
	shareKeys(parts)
	return o.assemble(parts)
}

func (o *Operator) assemble(parts []part) ([]*Table, error) {
	var tables []*Table
	for _, p := range parts {
		i := slices.IndexFunc(tables, func(t *Table) bool { return t.Name == p.schema.Name && t.Keyed() == keyed(p.schema.Kind) })
		if i < 0 {
			i = len(tables)
			tables = append(tables, &Table{Operator: o, Name: p.schema.Name, Kind: p.schema.Kind, maxParallelism: o.MaxParallelism})
		}
		if err := tables[i].add(p); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		if err := t.settle(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tables, func(a, b *Table) int { return cmp.Compare(a.Name, b.Name) })
	return tables, nil
}

func (o *Operator) openSubtask(ctx context.Context, s *flink.Subtask) ([]part, error) {
	if err := o.covers(s); err != nil {
		return nil, err
	}
	parts, err := o.openKeyed(ctx, s.ManagedKeyed)
	if err != nil {
		return nil, err
	}
	if h, ok := s.RawKeyed.(*flink.KeyGroupsHandle); ok {
		timers, err := o.openTimers(ctx, h)
		if err != nil {
			return nil, err
		}
		parts = append(withoutLoggedTimers(parts, timers), timers...)
	}
	if s.ManagedOperator != nil {
		lists, err := o.openOperatorState(ctx, s.ManagedOperator)
		if err != nil {
			return nil, err
		}
		parts = append(parts, lists...)
	}
	return parts, nil
}

// openTimers opens raw keyed state. What a user's own operator wrote there has no form that could be read, and is noted only.
func (o *Operator) openTimers(ctx context.Context, h *flink.KeyGroupsHandle) ([]part, error) {
	timers, err := flink.OpenTimers(ctx, h, o.snapshot.open, o.stateOptions(), o.MaxParallelism)
	if errors.Is(err, fault.ErrUnsupported) {
		o.note(fmt.Sprintf("raw keyed state is not read: %v", err))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	src := &stream{groups: timers, dir: o.snapshot.options.TempDir, memory: o.snapshot.options.Memory}
	return o.parts(timers.States(), h.Range, src), nil
}

func (o *Operator) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.notes, text) {
		o.notes = append(o.notes, text)
	}
}

// Notes says what the operator has that is not among its tables. Call Tables before.
func (o *Operator) Notes() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.notes)
}

func (o *Operator) stateOptions() state.Options {
	return state.Options{Kryo5: o.snapshot.Metadata.Kryo5(), Hints: o.snapshot.options.Hints, Names: o.names}
}

func (o *Operator) openKeyed(ctx context.Context, h flink.KeyedHandle) ([]part, error) {
	switch h := h.(type) {
	case nil:
		return nil, nil
	case *flink.KeyGroupsHandle:
		return o.openStream(ctx, h)
	case *flink.IncrementalHandle:
		return o.openDatabase(ctx, h)
	case *flink.ChangelogHandle:
		return o.openChangelog(ctx, h)
	}
	return nil, fault.Unsupported(o.snapshot.Location, -1, "state handle %T is not read", h)
}

func (o *Operator) openStream(ctx context.Context, h *flink.KeyGroupsHandle) ([]part, error) {
	groups, err := flink.OpenKeyGroups(ctx, h, o.snapshot.open, o.stateOptions(), o.MaxParallelism)
	if err != nil {
		return nil, err
	}
	src := &stream{groups: groups, dir: o.snapshot.options.TempDir, memory: o.snapshot.options.Memory}
	return o.parts(groups.Meta().States, h.Range, src), nil
}

func (o *Operator) openDatabase(ctx context.Context, h *flink.IncrementalHandle) ([]part, error) {
	var meta *state.KeyedMeta
	var db *database
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		meta, err = o.readMeta(gctx, h.Meta)
		return err
	})
	g.Go(func() (err error) {
		db, err = o.openFiles(gctx, filesOf(h))
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err // nothing of the database is open yet
	}
	return o.parts(meta.States, h.Range, db), nil
}

func (o *Operator) openFiles(ctx context.Context, files files) (*database, error) {
	db, err := rocksdb.Open(ctx, o.fileOpener(files), rocksdb.Options{KeepOpen: o.keepOpen(), Link: o.snapshot.link, Manifest: files.manifest(), Early: o.early(files)})
	if err != nil {
		return nil, err
	}
	return &database{db: db, files: files, dir: o.snapshot.Location}, nil
}

// tablesKept is how many tables that nobody reads an operator keeps open; a table's index takes up to a MiB.
const tablesKept = 64

// keepOpen is the share of one subtask's database.
func (o *Operator) keepOpen() int {
	n := tablesKept
	if m := o.snapshot.options.Memory; m != nil {
		n = min(n, m.Limit()>>20)
	}
	return max(n/max(len(o.Subtasks), 1), 2)
}

// parts makes a part of each state of a source, which the snapshot closes.
func (o *Operator) parts(schemas []*state.Schema, r flink.KeyGroupRange, src source) []part {
	o.mu.Lock()
	o.sources = append(o.sources, src)
	o.mu.Unlock()
	var out []part
	for id, s := range schemas {
		s.MaxParallelism = o.MaxParallelism
		out = append(out, part{groups: KeyGroups(r), schema: s, source: src, id: id})
	}
	return out
}

func (o *Operator) readMeta(ctx context.Context, h *flink.StreamHandle) (*state.KeyedMeta, error) {
	f, err := o.snapshot.open(ctx, h)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := storage.ReadAll(ctx, f, maxMeta)
	if err != nil {
		return nil, err
	}
	r := javaio.NewReader(f.Name(), 0, b)
	meta := state.ReadKeyedMeta(r, o.stateOptions())
	r.End()
	return meta, r.Err()
}

// files are those of a database, by the names that it gives them.
type files map[string]*flink.StreamHandle

func filesOf(h *flink.IncrementalHandle) files {
	out := files{}
	for _, list := range [][]flink.NamedHandle{h.Private, h.Shared} {
		for _, f := range list {
			out[f.Name] = f.Stream
		}
	}
	return out
}

// manifest names the one MANIFEST among the files; "" if there are several.
func (files files) manifest() (name string) {
	for n := range files {
		if strings.HasPrefix(n, "MANIFEST-") {
			if name != "" {
				return ""
			}
			name = n
		}
	}
	return name
}

func (o *Operator) fileOpener(have files) rocksdb.Opener {
	return func(ctx context.Context, name string) (storage.File, error) {
		h, ok := have[name]
		if !ok {
			return nil, fault.Corrupt(o.snapshot.Location, 0, "the metadata has no file %s, which the database needs", name)
		}
		return o.snapshot.open(ctx, h)
	}
}
