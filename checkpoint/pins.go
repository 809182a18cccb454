package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Pins keep snapshots readable after the job has deleted them, in a directory of their own:
//
//	files/<sha256 of address, size and version>   one hard link or copy a file, however many snapshots need it
//	snapshots/<holder>/<checkpoint id>.json       what one holder holds: address -> file
//
// A file is linked when it is first needed, and removed when no snapshot needs it any more. A Pins is safe for several goroutines;
// two processes must not share a directory.
type Pins struct {
	dir   string
	store storage.Store

	copies chan struct{} // a place each for those under way

	mu       sync.Mutex
	refs     map[string]int           // file name -> pinned snapshots that need it
	fetching map[string]chan struct{} // file name -> closed when it has come, or has not
}

// copiesAtOnce bounds the copies of all holders, each of which has a buffer of copyPiece.
const copiesAtOnce = 16

// Pin is one snapshot held by one holder.
type Pin struct {
	Found
	pins *Pins
	file string // the manifest
	data manifest
}

type manifest struct {
	Location string            `json:"location"`
	Job      string            `json:"job"`
	ID       int64             `json:"checkpoint_id"`
	Files    map[string]string `json:"files"` // address -> name in files/
}

// OpenPins opens or makes the directory and forgets files that no snapshot needs.
func OpenPins(dir string, store storage.Store) (*Pins, error) {
	p := &Pins{dir: dir, store: store, copies: make(chan struct{}, copiesAtOnce), refs: map[string]int{}, fetching: map[string]chan struct{}{}}
	for _, sub := range []string{p.filesDir(), p.snapshotsDir()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, fmt.Errorf("make pin directory: %w", err)
		}
	}
	pins, err := p.load("*")
	if err != nil {
		return nil, err
	}
	for _, pin := range pins {
		p.count(pin.data, 1)
	}
	return p, p.sweep()
}

// ReadPins looks into a directory that another process uses. What is held there can be opened, and may be released at any moment; nothing else may be done with it.
func ReadPins(dir string, store storage.Store) *Pins { return &Pins{dir: dir, store: store} }

func (p *Pins) filesDir() string { return filepath.Join(p.dir, "files") }

func (p *Pins) snapshotsDir() string { return filepath.Join(p.dir, "snapshots") }

// Held lists what holder holds, in no set order.
func (p *Pins) Held(holder string) ([]*Pin, error) { return p.load(holderDir(holder)) }

// holderDir makes any name a directory's.
func holderDir(holder string) string { return hex.EncodeToString([]byte(holder)) }

func (p *Pins) load(pattern string) ([]*Pin, error) {
	names, err := filepath.Glob(filepath.Join(p.snapshotsDir(), pattern, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	var pins []*Pin
	for _, name := range names {
		pin := &Pin{pins: p, file: name}
		b, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(b, &pin.data)
		}
		if err != nil {
			return nil, fmt.Errorf("read pin %s: %w", filepath.Base(name), err)
		}
		pin.Found = Found{Location: pin.data.Location, Job: pin.data.Job, ID: pin.data.ID}
		pins = append(pins, pin)
	}
	return pins, nil
}

// Take pins every file that the wanted operators of the snapshot at found need, before any of them is read for its content. The operators are
// named as Snapshot.Operator takes them; one that the snapshot lacks is no fault here. An error that wraps fs.ErrNotExist says that the job has deleted the
// snapshot meanwhile; then nothing is held.
func (p *Pins) Take(ctx context.Context, holder string, found Found, operators []string, o Options) (*Pin, error) {
	data := manifest{Location: found.Location, Job: found.Job, ID: found.ID}
	taking := &pinning{pins: p, files: map[string]*taken{}}
	o.Store = taking
	snap, err := Open(ctx, found.Location, o)
	if err == nil {
		err = snap.touch(ctx, operators, taking)
	}
	data.Files = taking.held()
	pin := &Pin{Found: found, pins: p, data: data}
	pin.file = filepath.Join(p.snapshotsDir(), holderDir(holder), fmt.Sprintf("%d-%s.json", found.ID, digest(found.Location)[:16]))
	if err == nil {
		err = pin.write()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pin %s: %w", found.Location, err), p.drop(data))
	}
	return pin, nil
}

func (pin *Pin) write() error {
	b, err := json.Marshal(pin.data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(pin.file), 0o700); err != nil {
		return err
	}
	tmp := pin.file + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, pin.file)
}

// Open opens the pinned snapshot. It reads nothing from where the snapshot came from.
func (pin *Pin) Open(ctx context.Context, o Options) (*Snapshot, error) {
	o.Store = pinned{pin}
	return Open(ctx, pin.Location, o)
}

// Release gives the snapshot up, and removes the files that nobody else needs.
func (pin *Pin) Release() error {
	if err := os.Remove(pin.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release pin: %w", err)
	}
	return pin.pins.drop(pin.data)
}

func (p *Pins) count(data manifest, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range data.Files {
		p.refs[name] += by
	}
}

func (p *Pins) drop(data manifest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, name := range data.Files {
		if p.refs[name]--; p.refs[name] > 0 {
			continue
		}
		delete(p.refs, name)
		if err := os.Remove(filepath.Join(p.filesDir(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweep removes files that a killed process left without a snapshot.
func (p *Pins) sweep() error {
	files, err := os.ReadDir(p.filesDir())
	if err != nil {
		return fmt.Errorf("list pinned files: %w", err)
	}
	var errs []error
	for _, f := range files {
		if p.refs[f.Name()] == 0 {
			errs = append(errs, os.Remove(filepath.Join(p.filesDir(), f.Name())))
		}
	}
	return errors.Join(errs...)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (p *Pins) open(ctx context.Context, name, uri string) (storage.File, error) {
	f, err := storage.Local().Open(ctx, filepath.Join(p.filesDir(), name))
	if err != nil {
		return nil, err
	}
	return storage.Section(f, 0, f.Size(), uri), nil
}

// pinned is a store that knows nothing but one pin's files.
type pinned struct{ pin *Pin }

func (s pinned) Open(ctx context.Context, uri string) (storage.File, error) {
	name, ok := s.pin.data.Files[uri]
	if !ok {
		return nil, fmt.Errorf("%s is not pinned: %w", uri, fs.ErrNotExist)
	}
	return s.pin.pins.open(ctx, name, uri)
}

func (s pinned) Stat(ctx context.Context, uri string) (storage.Info, error) {
	f, err := s.Open(ctx, uri)
	if err != nil {
		return storage.Info{}, err
	}
	defer f.Close()
	return storage.Info{URI: uri, Name: uri[strings.LastIndexByte(uri, '/')+1:], Size: f.Size()}, nil
}

func (s pinned) List(context.Context, string) ([]storage.Info, error) {
	return nil, fmt.Errorf("a pinned snapshot has no listing: %w", fs.ErrInvalid)
}
