package spill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

type runWriter struct {
	file *os.File
	buf  *bufio.Writer
	head []byte
	err  error
}

func createRun(dir string) (*runWriter, error) {
	f, err := os.CreateTemp(dir, "spill-*.run")
	if err != nil {
		return nil, fmt.Errorf("create spill file: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file cannot be removed, closeRun does it
	return &runWriter{file: f, buf: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (w *runWriter) add(key, value []byte) {
	if w.err != nil {
		return
	}
	w.head = binary.AppendUvarint(w.head[:0], uint64(len(key)))
	w.head = binary.AppendUvarint(w.head, uint64(len(value)))
	for _, b := range [...][]byte{w.head, key, value} {
		if _, err := w.buf.Write(b); err != nil {
			w.err = err
			return
		}
	}
}

func (w *runWriter) finish() (*os.File, error) {
	err := w.err
	if err == nil {
		err = w.buf.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write spill file: %w", err), closeRun(w.file))
	}
	return w.file, nil
}

func closeRun(f *os.File) error {
	err := f.Close()
	if rm := os.Remove(f.Name()); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// runSource reads a run back.
type runSource struct {
	buf        *bufio.Reader
	pair       []byte
	key, value []byte
	fault      error
}

func newRunSource(f *os.File, buffer int) (*runSource, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read spill file: %w", err)
	}
	return &runSource{buf: bufio.NewReaderSize(f, buffer)}, nil
}

func (r *runSource) next() bool {
	k, err := binary.ReadUvarint(r.buf)
	if errors.Is(err, io.EOF) {
		return false
	}
	var v uint64
	if err == nil {
		v, err = binary.ReadUvarint(r.buf)
	}
	if err == nil {
		err = r.fill(int(k), int(v))
	}
	if err != nil {
		r.fault = fmt.Errorf("read spill file: %w", err)
		return false
	}
	return true
}

func (r *runSource) fill(k, v int) error {
	if cap(r.pair) < k+v {
		r.pair = make([]byte, k+v, (k+v)*3/2)
	}
	r.pair = r.pair[:k+v]
	r.key, r.value = r.pair[:k], r.pair[k:]
	_, err := io.ReadFull(r.buf, r.pair)
	return err
}

func (r *runSource) pairNow() (key, value []byte) { return r.key, r.value }

func (r *runSource) err() error { return r.fault }
