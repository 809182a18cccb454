package flink

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	// maxRecord bounds what is held in memory at once: one key with its value, or one element of a list or map.
	maxRecord = 1 << 30
	// doubtful is how much is read ahead before bytes that break their format are believed to: a decoder that is shown
	// part of a record only may take it for a broken one.
	doubtful = 1 << 20
)

// window shows a stream to a parser one record at a time. It holds the bytes not yet parsed; when a record does not end
// in them it gets more and parses it again, so that memory follows the size of a record and not of the stream.
type window struct {
	src     source
	name    string // of the file, for messages
	buf     []byte
	start   int   // of what has not been parsed
	logical int64 // position in the decoded stream of buf[0]
	marks   []mark
	eof     bool
	r       javaio.Reader
}

// mark says which offset of the file a piece of the decoded stream came from.
type mark struct{ logical, at int64 }

var windows = sync.Pool{New: func() any { return new(window) }}

func newWindow(src source, name string) *window {
	w := windows.Get().(*window)
	*w = window{src: src, name: name, buf: w.buf[:0], marks: w.marks[:0]}
	return w
}

// lend leaves the buffer to whoever holds the last record: a loop that was left early may go on using it.
func (w *window) lend() { w.buf, w.start = nil, 0 }

// free gives the buffer back; nothing that next has shown may be used any more, unless it was lent.
func (w *window) free() {
	if cap(w.buf) <= 4*maxPiece {
		w.src = nil
		windows.Put(w)
	}
}

// next lets parse read one record. What it reads is valid until the next call. It may be called several times for one record, and has
// to forget what it did in an earlier call. Faults are those of parse, once there is nothing more to show it.
func (w *window) next(ctx context.Context, parse func(r *javaio.Reader)) error {
	for {
		w.r.Reset(w.name, w.fileOffset(), w.buf[w.start:])
		parse(&w.r)
		err := w.r.Err()
		if err == nil {
			w.start = len(w.buf) - w.r.Len()
			return nil
		}
		if w.eof || !errors.Is(err, fault.ErrCorrupt) || !errors.Is(err, fault.ErrTruncated) && len(w.buf)-w.start >= doubtful {
			return err
		}
		if err := w.more(ctx); err != nil {
			return err
		}
	}
}

// more at least doubles what there is to show.
func (w *window) more(ctx context.Context) error {
	w.compact()
	want := max(2*len(w.buf), minPiece)
	if want > maxRecord {
		return fault.Unsupported(w.name, w.fileOffset(), "a record of more than %d bytes", maxRecord)
	}
	w.buf = slices.Grow(w.buf, want-len(w.buf))
	for len(w.buf) < want {
		logical := w.logical + int64(len(w.buf))
		buf, at, err := w.src.fill(ctx, w.buf)
		if errors.Is(err, io.EOF) {
			w.eof = true
			return nil
		}
		if err != nil {
			return err
		}
		w.buf, w.marks = buf, append(w.marks, mark{logical, at})
	}
	return nil
}

// compact drops what has been parsed.
func (w *window) compact() {
	w.logical += int64(w.start)
	w.buf = w.buf[:copy(w.buf, w.buf[w.start:])]
	w.start = 0
	if i := w.piece(); i > 0 {
		w.marks = slices.Delete(w.marks, 0, i)
	}
}

// piece is the index of the mark whose piece holds the next byte; -1 before anything has been read.
func (w *window) piece() int {
	here := w.logical + int64(w.start)
	i := len(w.marks) - 1
	for i > 0 && w.marks[i].logical > here {
		i--
	}
	return i
}

// position is where the next byte lies, so that reading can begin there again. Before the first read there is none.
func (w *window) position() position {
	i := w.piece()
	if i < 0 {
		return position{}
	}
	return position{w.marks[i].at, int(w.logical + int64(w.start) - w.marks[i].logical)}
}

// fileOffset is that of the next byte, or of the compressed chunk that holds it.
func (w *window) fileOffset() int64 {
	p := w.position()
	if _, ok := w.src.(*plain); ok {
		return p.at + int64(p.skip)
	}
	return p.at
}

// skip consumes n bytes.
func (w *window) skip(ctx context.Context, n int) error {
	return w.next(ctx, func(r *javaio.Reader) { r.Skip(n) })
}

// all consumes everything up to the end.
func (w *window) all(ctx context.Context) ([]byte, error) {
	for !w.eof {
		if err := w.more(ctx); err != nil {
			return nil, err
		}
	}
	b := w.buf[w.start:]
	w.start = len(w.buf)
	return b, nil
}

// end says whether nothing is left.
func (w *window) end(ctx context.Context) (bool, error) {
	for w.start == len(w.buf) && !w.eof {
		if err := w.more(ctx); err != nil {
			return false, err
		}
	}
	return w.start == len(w.buf), nil
}
