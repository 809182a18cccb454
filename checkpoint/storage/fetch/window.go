package fetch

import (
	"context"
	"slices"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

const (
	windowSize  = 256 << 10
	windowsKept = 8 // of a file, the latest
)

// Windowed reads a far file, of which many small neighbouring pieces are wanted, by whole windows. Reads as long as a window go past them, and a near
// file stays as it is.
func Windowed(f storage.File) storage.File {
	if l := Of(f); l != nil {
		return &windowed{File: f, link: l}
	}
	return f
}

type windowed struct {
	storage.File
	link *Link

	mu     sync.Mutex
	recent []*window // the latest last
}

type window struct {
	at     int64
	loaded chan struct{} // closed once b is there, or has failed and is nil
	b      []byte
}

func (w *windowed) ReadAt(ctx context.Context, p []byte, off int64) error {
	if len(p) >= windowSize || storage.Within(w.Name(), off, len(p), w.Size()) != nil {
		return w.File.ReadAt(ctx, p, off)
	}
	for len(p) > 0 {
		win, err := w.get(ctx, off-off%windowSize)
		if err != nil {
			return err
		}
		n := copy(p, win.b[off-win.at:])
		p, off = p[n:], off+int64(n)
	}
	return ctx.Err()
}

// get gives the window at an offset, and reads it unless somebody else does. Whoever waited for one that failed tries for itself.
func (w *windowed) get(ctx context.Context, at int64) (*window, error) {
	for {
		win, mine := w.find(at)
		if mine {
			return win, w.load(ctx, win)
		}
		select {
		case <-win.loaded:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if win.b != nil {
			return win, nil
		}
	}
}

func (w *windowed) find(at int64) (win *window, mine bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.recent, func(r *window) bool { return r.at == at }); i >= 0 {
		win = w.recent[i]
		w.recent = append(slices.Delete(w.recent, i, i+1), win)
		return win, false
	}
	if len(w.recent) == windowsKept {
		w.recent = slices.Delete(w.recent, 0, 1)
	}
	win = &window{at: at, loaded: make(chan struct{})}
	w.recent = append(w.recent, win)
	return win, true
}

func (w *windowed) load(ctx context.Context, win *window) error {
	defer close(win.loaded)
	b := make([]byte, min(windowSize, w.Size()-win.at))
	if err := w.File.ReadAt(ctx, b, win.at); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.recent = slices.DeleteFunc(w.recent, func(r *window) bool { return r == win })
		return err
	}
	win.b = b
	return nil
}
