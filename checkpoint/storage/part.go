package storage

import (
	"context"

	"github.com/statebridge/statebridge/fault"
)

// Inline is a File over bytes in memory, such as a state handle that carries its own state.
type Inline struct {
	name string
	b    []byte
}

// NewInline makes a File of b, which must not change any more; name is for messages.
func NewInline(name string, b []byte) *Inline { return &Inline{name: name, b: b} }

// ReadAt copies.
func (f *Inline) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := Within(f.name, off, len(p), f.Size()); err != nil {
		return err
	}
	copy(p, f.b[off:])
	return nil
}

// Size is the number of bytes.
func (f *Inline) Size() int64 { return int64(len(f.b)) }

// Name is the one given.
func (f *Inline) Name() string { return f.name }

// Close does nothing.
func (f *Inline) Close() error { return nil }

// Section gives size bytes of f from off as a File of their own, for several logical files that share a physical one.
// Closing it closes f.
func Section(f File, off, size int64, name string) File {
	return &section{f: f, off: off, size: size, name: name}
}

type section struct {
	f         File
	off, size int64
	name      string
}

func (s *section) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := Within(s.name, off, len(p), s.size); err != nil {
		return err
	}
	return s.f.ReadAt(ctx, p, s.off+off)
}

func (s *section) Size() int64  { return s.size }
func (s *section) Name() string { return s.name }
func (s *section) Close() error { return s.f.Close() }

// Within checks that n bytes at off lie inside size.
func Within(name string, off int64, n int, size int64) error {
	switch {
	case off < 0:
		return fault.Corrupt(name, off, "negative offset")
	case off > size || int64(n) > size-off:
		return truncated(name, off, n, size-off)
	}
	return nil
}

// ReadAll reads a whole file of at most limit bytes.
func ReadAll(ctx context.Context, f File, limit int64) ([]byte, error) {
	if f.Size() > limit {
		return nil, fault.Unsupported(f.Name(), -1, "file of %d bytes, at most %d are read at once", f.Size(), limit)
	}
	b := make([]byte, f.Size())
	if err := f.ReadAt(ctx, b, 0); err != nil {
		return nil, err
	}
	return b, nil
}
