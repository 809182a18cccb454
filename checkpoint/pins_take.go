package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// pinning is a store that pins what is opened through it, each address once, however many ask for it at the same time.
type pinning struct {
	pins *Pins

	mu    sync.Mutex
	files map[string]*taken
}

// taken is how it went with an address.
type taken struct {
	once sync.Once
	name string // in files/
	err  error
}

// sizeUnknown is the size of a file that has to be asked for.
const sizeUnknown = -1

func (s *pinning) Open(ctx context.Context, uri string) (storage.File, error) {
	return s.openFrom(ctx, origin{uri: uri, size: sizeUnknown})
}

// origin is where a file comes from.
type origin struct {
	uri   string
	size  int64  // which the metadata may have told
	found func() // is called once the first bytes have come, unless nil
}

// openFrom is Open where more is known.
func (s *pinning) openFrom(ctx context.Context, from origin) (storage.File, error) {
	uri := from.uri
	s.mu.Lock()
	t := s.files[uri]
	if t == nil {
		t = &taken{}
		s.files[uri] = t
	}
	s.mu.Unlock()
	t.once.Do(func() { t.name, t.err = s.pins.acquire(ctx, from) })
	if t.err != nil {
		return nil, t.err
	}
	return s.pins.open(ctx, t.name, uri)
}

// reuse opens a file that the metadata names and that is held already, wherever else it might be looked for; nil when there is none.
func (s *pinning) reuse(ctx context.Context, uri string, size int64) storage.File {
	if name, ok := s.pins.known(uri, size); !ok || !s.pins.holds(name) {
		return nil
	}
	f, err := s.openFrom(ctx, origin{uri: uri, size: size})
	if err != nil { // released meanwhile, and not there any more
		return nil
	}
	return f
}

func (s *pinning) Stat(ctx context.Context, uri string) (storage.Info, error) {
	return s.pins.store.Stat(ctx, uri)
}

func (s *pinning) List(ctx context.Context, uri string) ([]storage.Info, error) {
	return s.pins.store.List(ctx, uri)
}

// held gives the names of what was pinned, by address. Nothing may be opened meanwhile.
func (s *pinning) held() map[string]string {
	held := map[string]string{}
	for uri, t := range s.files {
		if t.err == nil {
			held[uri] = t.name
		}
	}
	return held
}

// acquire makes sure that the file at uri is held, and counts one more snapshot that needs it. A file that is held already is not
// asked for when its name and size tell that it is the one.
func (p *Pins) acquire(ctx context.Context, from origin) (name string, err error) {
	name, sure := p.known(from.uri, from.size)
	if !sure {
		info, err := p.store.Stat(ctx, from.uri)
		if err != nil {
			return "", err
		}
		from.size = info.Size
		name = digest(fmt.Sprintf("%s\x00%d\x00%d%s", from.uri, info.Size, info.ModTime.UnixNano(), info.Version))
	}
	for {
		wait, mine := p.claim(name)
		if mine {
			err := p.fetch(ctx, from, filepath.Join(p.filesDir(), name))
			if !sure && !errors.Is(err, fs.ErrNotExist) {
				err = found(err) // by the look at it
			}
			return name, p.settle(name, err)
		}
		if wait == nil {
			return name, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// known names a file that address and size tell from any other.
func (p *Pins) known(uri string, size int64) (name string, ok bool) {
	if size <= 0 || !drawn(uri) || storage.Latency(p.store, uri) == 0 {
		return "", false
	}
	return digest(fmt.Sprintf("%s\x00%d", uri, size)), true
}

func (p *Pins) holds(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refs[name] > 0
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// drawn says whether the file's name was drawn at random, as the names of Flink's state files are: no other content ever gets it.
func drawn(uri string) bool {
	_, name := storage.Split(uri)
	return uuid.MatchString(name)
}

// claim counts the file if it is held. Else the caller has to fetch it and settle, or to wait for the one who does.
func (p *Pins) claim(name string) (wait chan struct{}, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refs[name] > 0 {
		p.refs[name]++
		return nil, false
	}
	if wait = p.fetching[name]; wait != nil {
		return wait, false
	}
	p.fetching[name] = make(chan struct{})
	return nil, true
}

// settle counts the file that was fetched. Those who waited look again: one whose context is still good tries what failed here.
func (p *Pins) settle(name string, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.refs[name]++
	}
	close(p.fetching[name])
	delete(p.fetching, name)
	return err
}

// fetch links the file, or copies it where it cannot be linked.
func (p *Pins) fetch(ctx context.Context, from origin, target string) error {
	if path, err := storage.LocalPath(from.uri); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			err = os.Link(path, target)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	select {
	case p.copies <- struct{}{}:
		defer func() { <-p.copies }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.copy(ctx, from, target)
}

// copy gives the file its name when it is whole.
func (p *Pins) copy(ctx context.Context, from origin, target string) (err error) {
	in, err := p.source(ctx, from.uri, from.size)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := target + ".new"
	out, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return found(err) // so nothing was asked of the store, and the directory is not one to copy to
	}
	defer func() {
		if err = errors.Join(err, found(out.Close())); err != nil {
			err = errors.Join(err, os.Remove(tmp))
			return
		}
		err = found(os.Rename(tmp, target))
	}()
	return write(ctx, out, in, from.found)
}

// found marks the fault of a file that is there: it is not looked for elsewhere.
func found(err error) error {
	if err == nil {
		return nil
	}
	return &flink.FoundError{Err: err}
}

// source opens the file by no request of its own where it is far: the first read tells whether it is there, and of that size.
func (p *Pins) source(ctx context.Context, uri string, size int64) (storage.File, error) {
	if r, ok := p.store.(storage.Remote); ok && size > 0 {
		return r.OpenSized(ctx, uri, size)
	}
	return p.store.Open(ctx, uri)
}

// copyPiece is how much of a file is asked for at once.
const copyPiece = 1 << 20

func write(ctx context.Context, out *os.File, in storage.File, begun func()) error {
	buf := make([]byte, min(in.Size(), copyPiece))
	for off := int64(0); off < in.Size(); off += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), in.Size()-off)]
		if err := in.ReadAt(ctx, buf, off); err != nil && off == 0 {
			return err // which may be that there is none
		} else if err != nil {
			return found(err)
		}
		if begun != nil && off == 0 {
			begun()
		}
		if _, err := out.Write(buf); err != nil {
			return found(err)
		}
	}
	return nil
}
