package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/fluss"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/state"
)

// Options say how a snapshot is opened. The zero value reads local files.
type Options struct {
	Store   storage.Store     // nil is the local disk
	PathMap []PathMap         // where files are to be looked for that the metadata names elsewhere
	TempDir string            // for sorting what a heap backend left unsorted; "" is the system's
	Memory  *spill.Memory     // for sorting, shared by all who are given the same; nil is the default of each cursor
	MaxRow  int               // bytes of the largest key and value that are read; a larger row is an error. 0 is no limit
	Reading Reading           // from a store that is far
	Hints   *state.Hints      // how to decode classes that the snapshot does not describe; nil is none
	Names   []RowNames        // names for the fields of top-level rows, which a snapshot does not have
	Table   *state.FlussTable // what a KV snapshot of Fluss does not say of its table; nil shows rows raw
}

// Reading bounds what is under way from a store that answers slowly; the zero value works.
type Reading struct {
	Requests int   // at once, fewer where Ahead is small; 0: 512
	Ahead    int64 // bytes fetched before they are needed, by all that reads the snapshot; 0: 64 MiB
}

// PathMap says that what lay below From lies below To now.
type PathMap = flink.PathMap

// Snapshot is one checkpoint or savepoint, or a KV snapshot of a bucket of Fluss. It reads files when they are needed, so it stays usable only as long as they
// exist; Pins make sure that they do. Close it after use. A Snapshot is safe for several goroutines.
type Snapshot struct {
	Location string          // address of the directory
	Metadata *flink.Metadata // of a KV snapshot of Fluss, what Flink would say of the same files
	Fluss    *fluss.Metadata // nil of Flink's

	options   Options
	link      *fetch.Link
	resolver  *flink.Resolver
	operators []*Operator
}

// RowNames names the fields of the row that a state holds: of its value, or of its map key when the value is no row.
type RowNames struct {
	Operator string // uid, name or id; "" is any that has the state
	State    string
	Fields   []string
}

// maxMetadata bounds what is read of a metadata file, which can hold inlined state.
const maxMetadata = 1 << 30

// Open reads the metadata of the snapshot at location: the address of its directory, or of the _metadata file in it (_METADATA in Fluss). An error wraps fs.ErrNotExist when there
// is no such file, fault.ErrTruncated when it is still being written or cut short, fault.ErrCorrupt or fault.ErrUnsupported when it cannot be understood.
func Open(ctx context.Context, location string, o Options) (*Snapshot, error) {
	if o.Store == nil {
		o.Store = storage.Local()
	}
	dir, files := split(location)
	dir = cmp.Or(dir, ".")
	file, b, err := readFirst(ctx, o.Store, files)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a snapshot: %w%s", dir, err, hint(ctx, o.Store, dir))
	}
	if err != nil {
		return nil, err
	}
	link := fetch.NewLink(storage.Latency(o.Store, dir), fetch.Options{Lanes: o.Reading.Requests, Memory: o.Reading.Ahead})
	s := &Snapshot{Location: dir, options: o, link: link, resolver: flink.NewResolver(o.Store, place(dir), o.PathMap)}
	if err := s.readMetadata(file, b); err != nil {
		return nil, err
	}
	for i := range s.Metadata.Operators {
		s.operators = append(s.operators, &Operator{Operator: &s.Metadata.Operators[i], snapshot: s})
	}
	s.name(o.Names)
	return s, nil
}

func (s *Snapshot) readMetadata(file string, b []byte) (err error) {
	if !fluss.IsMetadata(b) {
		if s.options.Table != nil {
			return fmt.Errorf("%s: a schema file is for KV snapshots of Fluss, and Flink's snapshots describe themselves", s.Location)
		}
		s.Metadata, err = flink.ReadMetadata(file, b)
		return err
	}
	if len(s.options.Names) > 0 {
		return fmt.Errorf("%s: names of columns are for Flink's rows; those of a Fluss table stand in its schema file", s.Location)
	}
	if s.Fluss, err = fluss.ReadMetadata(file, b); err == nil {
		s.Metadata = bucketMetadata(s.Fluss)
	}
	return err
}

// place is a local directory as the resolver needs it: whole, since files are looked for beside and above it, and with links followed, since they lie
// beside what a link points to.
func place(dir string) string {
	path, err := storage.LocalPath(dir)
	if err != nil {
		return dir
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return dir
	}
	if behind, err := filepath.EvalSymlinks(whole); err == nil {
		return behind
	}
	return whole
}

// readFirst reads the first of the files that there is; the error is that of the first.
func readFirst(ctx context.Context, store storage.Store, files []string) (file string, b []byte, err error) {
	for i, file := range files {
		b, errThis := storage.ReadFile(ctx, store, file, maxMetadata)
		if !errors.Is(errThis, fs.ErrNotExist) {
			return file, b, errThis
		}
		if i == 0 {
			err = errThis
		}
	}
	return "", nil, err
}

// name tells the operators which names their rows have.
func (s *Snapshot) name(names []RowNames) {
	for _, n := range names {
		named := s.operators
		if n.Operator != "" {
			o, err := s.Operator(n.Operator)
			if err != nil {
				continue // whoever asks for its tables is told
			}
			named = []*Operator{o}
		}
		for _, o := range named {
			if o.names == nil {
				o.names = map[string][]string{}
			}
			o.names[n.State] = n.Fields
		}
	}
}

// open opens what a handle points to, behind the link to the store.
func (s *Snapshot) open(ctx context.Context, h *flink.StreamHandle) (storage.File, error) {
	f, err := s.resolver.OpenSized(ctx, h)
	if err != nil {
		return nil, err
	}
	return s.link.File(f), nil
}

// openFile opens the whole file that a handle points into, likewise.
func (s *Snapshot) openFile(ctx context.Context, h *flink.StreamHandle) (storage.File, error) {
	f, err := s.resolver.OpenFile(ctx, h)
	if err != nil {
		return nil, err
	}
	return s.link.File(f), nil
}

// hint names snapshots that lie below a directory which is none itself.
func hint(ctx context.Context, store storage.Store, dir string) string {
	found, err := Discover(ctx, store, dir, "")
	if err == nil && len(found) == 0 {
		found, err = discoverBucket(ctx, store, dir)
	}
	if err != nil || len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(" (below it the newest is %s)", found[len(found)-1].Location)
}

// ID is the checkpoint id. Savepoints use up ids of the same sequence.
func (s *Snapshot) ID() int64 { return s.Metadata.CheckpointID }

// Operators lists the operators in the order of the metadata.
func (s *Snapshot) Operators() []*Operator { return s.operators }

// Operator finds an operator by uid, name or id. The error names those that there are.
func (s *Snapshot) Operator(name string) (*Operator, error) {
	id := state.OperatorID(name)
	for _, match := range []func(*Operator) bool{
		func(o *Operator) bool { return o.ID == strings.ToLower(name) },
		func(o *Operator) bool { return o.UID == name && name != "" || o.ID == id },
		func(o *Operator) bool { return o.Name == name && name != "" },
	} {
		for _, o := range s.operators {
			if match(o) {
				return o, nil
			}
		}
	}
	return nil, &NotFoundError{What: "operator", Name: name, In: s.Location, Have: s.operatorNames()}
}

func (s *Snapshot) operatorNames() []string {
	var names []string
	for _, o := range s.operators {
		names = append(names, o.String())
	}
	return names
}

// Table finds one state of one operator. Both errors name what there is.
func (s *Snapshot) Table(ctx context.Context, operator, name string) (*Table, error) {
	o, err := s.Operator(operator)
	if err != nil {
		return nil, err
	}
	return o.Table(ctx, name)
}

// Close closes the files that are open. Cursors must be closed before.
func (s *Snapshot) Close() error {
	var errs []error
	for _, o := range s.operators {
		for _, src := range o.sources {
			errs = append(errs, src.close())
		}
		o.sources = nil
	}
	return errors.Join(errs...)
}

// Unresolved gives an error for each file that the snapshot refers to and that is not found, or is shorter than it should be.
func (s *Snapshot) Unresolved(ctx context.Context) []error {
	return s.resolver.Unresolved(ctx, s.Metadata)
}

// touch opens every file of the named operators, or of all when none is named, and closes it again.
func (s *Snapshot) touch(ctx context.Context, operators []string, by *pinning) error {
	wanted := map[string]bool{}
	for _, name := range operators {
		if o, err := s.Operator(name); err == nil {
			wanted[o.ID] = true
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(openAtOnce)
	for ref := range s.Metadata.StreamHandles() {
		if len(operators) > 0 && !wanted[ref.Operator.ID] || !readable(ref) {
			continue
		}
		g.Go(func() error {
			f, err := s.openNow(ctx, ref, by)
			if err != nil {
				return err
			}
			return f.Close()
		})
	}
	return g.Wait()
}

// openNow opens the file of a handle, and notices one that is still being copied to its place.
func (s *Snapshot) openNow(ctx context.Context, ref flink.Ref, by *pinning) (storage.File, error) {
	h := ref.Handle
	if ref.Role == flink.RoleChangelog {
		return s.resolver.OpenFile(ctx, h) // these handles' sizes are not those of files
	}
	size := int64(sizeUnknown)
	if h.Kind == flink.AbsoluteFile || h.Kind == flink.RelativeFile {
		size = h.Size
	}
	if f := by.reuse(ctx, h.Path, size); f != nil {
		return f, nil
	}
	return s.resolver.OpenBy(ctx, h, func(ctx context.Context, uri string, found func()) (storage.File, error) {
		return by.openFrom(ctx, origin{uri, size, found})
	})
}

// readable leaves out what holds no state of its own: in-flight records, and what the coordinator keeps.
func readable(ref flink.Ref) bool {
	return ref.Role != flink.RoleChannel && ref.Role != flink.RoleCoordinator
}

// NotFoundError says that a snapshot lacks something, and what it has instead.
type NotFoundError struct {
	What, Name string // "operator" or "state", and what was asked for
	In         string // the snapshot or operator
	Have       []string
}

func (e *NotFoundError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no %s %q in %s, which has none", e.What, e.Name, e.In)
	}
	return fmt.Sprintf("no %s %q in %s; it has %s", e.What, e.Name, e.In, strings.Join(e.Have, ", "))
}
