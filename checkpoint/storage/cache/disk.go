package cache

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// disk holds ranges. Whatever fails on it makes the next read a remote one, and nothing worse.
type disk struct {
	dir   string
	limit int64

	mu   sync.Mutex
	used int64 // at least, of what this process knows; 0: not counted yet
}

func (d *disk) check() error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(d.dir, ".new-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// span names a range of one version of a file.
type span struct {
	version string
	off, n  int64
}

func (s span) name() string { return fmt.Sprintf("%s-%d-%d", s.version, s.off, s.n) }

// parse reads a name back; what is no range's gives n 0.
func parse(name string) (s span) {
	if len(name) > 2*16 {
		s.version = name[:2*16]
		if _, err := fmt.Sscanf(name[2*16:], "-%d-%d", &s.off, &s.n); err != nil || s.name() != name {
			return span{}
		}
	}
	return s
}

const (
	magic     = "sbcache1"
	pieceSize = 16 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func pieces(n int64) int64 { return (n + pieceSize - 1) / pieceSize }

func (s span) head() int64 { return int64(len(magic)) + 4*pieces(s.n) }

// sum is the checksum of a piece, at its place in its range of its file.
func sum(dir string, s span, piece int64, b []byte) uint32 {
	c := crc32.Checksum(fmt.Appendf(nil, "%s/%s/%d", filepath.Base(dir), s.name(), piece), castagnoli)
	return crc32.Update(c, castagnoli, b)
}

// read fills p from a held range that covers it, and says whether it could.
func (d *disk) read(dir string, held []span, version string, p []byte, off int64) bool {
	for _, s := range held {
		if s.version != version || off < s.off || off+int64(len(p)) > s.off+s.n {
			continue
		}
		name := filepath.Join(dir, s.name())
		if err := fill(name, dir, s, p, off-s.off); err != nil {
			_ = os.Remove(name) // it is damaged, or gone
			continue
		}
		now := time.Now()
		_ = os.Chtimes(name, now, now) // it is kept longer
		return true
	}
	return false
}

// fill reads the pieces of a range that p lies in, and checks each.
func fill(name, dir string, s span, p []byte, at int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	first, last := at/pieceSize, (at+int64(len(p))-1)/pieceSize
	sums := make([]byte, 4*(last-first+1))
	if _, err := f.ReadAt(sums, int64(len(magic))+4*first); err != nil {
		return err
	}
	b := make([]byte, pieceSize)
	for i := first; i <= last; i++ {
		b = b[:min(pieceSize, s.n-i*pieceSize)]
		if _, err := f.ReadAt(b, s.head()+i*pieceSize); err != nil {
			return err
		}
		if binary.BigEndian.Uint32(sums[4*(i-first):]) != sum(dir, s, i, b) {
			return fmt.Errorf("%s: a checksum does not match", name)
		}
		from := max(at-i*pieceSize, 0)
		copy(p[i*pieceSize+from-at:], b[from:])
	}
	return nil
}

// list gives the ranges in the directory of a file.
func list(dir string) (held []span) {
	entries, _ := os.ReadDir(dir) // what cannot be listed is not held
	for _, e := range entries {
		if s := parse(e.Name()); s.n > 0 {
			held = append(held, s)
		}
	}
	return held
}

// keep writes a range, if it is not too large a part of what may be held, and says whether it did.
func (d *disk) keep(dir string, s span, p []byte) bool {
	if s.n > d.limit/4 {
		return false
	}
	b := make([]byte, 0, s.head()+s.n)
	b = append(b, magic...)
	for i := range pieces(s.n) {
		b = binary.BigEndian.AppendUint32(b, sum(dir, s, i, p[i*pieceSize:min((i+1)*pieceSize, s.n)]))
	}
	if write(dir, s.name(), append(b, p...)) != nil {
		return false
	}
	d.grow(s.head() + s.n)
	return true
}

func write(dir, name string, b []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// grow counts what was written, and makes room when it is too much.
func (d *disk) grow(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used > 0 && d.used+n <= d.limit {
		d.used += n
		return
	}
	d.used = d.shrink()
}

// abandoned is the age at which a file that never got its name is taken for left behind.
const abandoned = time.Hour

// shrink removes the ranges that were used longest ago until a tenth of the limit is free, and gives what is left.
func (d *disk) shrink() int64 {
	type entry struct {
		path string
		size int64
		used time.Time
	}
	var all []entry
	total := int64(1) // counted
	_ = filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // others may remove what is being walked over
		}
		fi, err := e.Info()
		if err == nil && (parse(e.Name()).n > 0 || time.Since(fi.ModTime()) > abandoned) {
			all = append(all, entry{path, fi.Size(), fi.ModTime()})
			total += fi.Size()
		}
		return nil
	})
	if total <= d.limit {
		return total
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, e := range all {
		if total <= d.limit/10*9 {
			break
		}
		_ = os.Remove(e.path)
		total -= e.size
	}
	return total
}
