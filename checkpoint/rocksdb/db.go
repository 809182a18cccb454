package rocksdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/manifest"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
)

// Opener opens a file by its name in the database: CURRENT, MANIFEST-000004, 000010.sst.
type Opener func(ctx context.Context, name string) (storage.File, error)

// Options tunes a DB; the zero value works.
type Options struct {
	// ReadAhead is how many bytes one sorted run reads at once when it is scanned in order. Zero: 256 KiB. Negative: block by block.
	ReadAhead int
	// Link is the way to the files; nil: they are near.
	Link *fetch.Link
	// Manifest is the name that CURRENT is expected to give, so that both are read at once. ReadAhead does not count for far files.
	Manifest string
	// Early names far tables that will be needed, the most needed first: their ends are read beside the MANIFEST.
	Early []string
	// KeepOpen is how many tables stay open, index in memory, while nobody reads them. Zero: 32. Negative: none.
	KeepOpen int
}

const (
	defaultReadAhead = 256 << 10
	defaultKeepOpen  = 32
)

// DB is an open database. It serves many goroutines.
type DB struct {
	open     Opener
	early    early
	families []Family
	lastSeq  uint64
	ahead    int
	link     *fetch.Link
	tables   *tables
	stats    sst.Stats
	planned  planned
}

// Family is a column family and its live tables.
type Family struct {
	ID    uint32
	Name  string
	Files []FileMeta // by level; in level 0 newest first, deeper by key
}

// FileMeta is a table as the MANIFEST tells of it.
type FileMeta struct {
	Number      uint64
	Level       int
	Size        int64
	Smallest    []byte // internal keys: user key and eight bytes
	Largest     []byte
	SmallestSeq uint64
	LargestSeq  uint64
}

// Name is the table's name in the database.
func (f FileMeta) Name() string { return fmt.Sprintf("%06d.sst", f.Number) }

// SmallestUser is the lowest user key that the file has anything to say about.
func (f FileMeta) SmallestUser() []byte { return ikey.User(f.Smallest) }

// LargestUser is the highest such key; with exclusive set the file reaches up to but not including it.
func (f FileMeta) LargestUser() (key []byte, exclusive bool) {
	return ikey.User(f.Largest), ikey.ExclusiveEnd(f.Largest)
}

// Open reads CURRENT and the MANIFEST. Tables are opened when they are first read.
func Open(ctx context.Context, open Opener, o Options) (*DB, error) {
	db := &DB{open: open, ahead: o.ReadAhead, link: o.Link}
	if db.link == nil {
		db.link = fetch.NewLink(0, fetch.Options{})
	}
	db.early.send(ctx, open, db.link, o.Early)
	v, err := readVersion(ctx, open, o.Manifest)
	if err != nil {
		return nil, errors.Join(err, db.early.close())
	}
	db.lastSeq = v.LastSequence
	for _, f := range v.Families {
		db.families = append(db.families, family(f))
	}
	if o.ReadAhead == 0 {
		db.ahead = defaultReadAhead
	}
	keep := o.KeepOpen
	if keep == 0 {
		keep = defaultKeepOpen
	}
	db.tables = newTables(keep, db.link.Far(), db.openTable)
	return db, nil
}

func readVersion(ctx context.Context, open Opener, expected string) (*manifest.Version, error) {
	buf, err := readManifest(ctx, open, expected)
	if err != nil {
		return nil, err
	}
	return manifest.Read(buf.name, buf.bytes)
}

// readManifest reads CURRENT, and the MANIFEST that it names, which is read beside it if it is the expected one.
func readManifest(ctx context.Context, open Opener, expected string) (buf file, err error) {
	var current, guessed file
	var failed error // of the guess: it may be of no account
	var g errgroup.Group
	g.Go(func() (err error) {
		current, err = readFile(ctx, open, "CURRENT")
		return err
	})
	if expected != "" {
		g.Go(func() error {
			guessed, failed = readFile(ctx, open, expected)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return file{}, err
	}
	name, err := manifestName(current)
	switch {
	case err != nil:
		return file{}, err
	case name == expected:
		return guessed, failed
	}
	return readFile(ctx, open, name)
}

func family(f manifest.Family) Family {
	out := Family{ID: f.ID, Name: f.Name}
	for _, m := range f.Files {
		out.Files = append(out.Files, FileMeta{m.Number, m.Level, m.Size, m.Smallest, m.Largest, m.SmallestSeq, m.LargestSeq})
	}
	return out
}

// file is a small file read whole, with the name that messages use.
type file struct {
	name  string
	bytes []byte
}

func readFile(ctx context.Context, open Opener, name string) (file, error) {
	f, err := open(ctx, name)
	if err != nil {
		return file{}, missing(name, err)
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	if f.Size() > math.MaxInt32 {
		return file{}, fault.Corrupt(f.Name(), 0, "%s has %d bytes", name, f.Size())
	}
	b := make([]byte, f.Size())
	if err := f.ReadAt(ctx, b, 0); err != nil {
		return file{}, fmt.Errorf("read %s: %w", name, err)
	}
	return file{f.Name(), b}, nil
}

func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: %w", name, err)
	}
	return fmt.Errorf("open %s: %w", name, err)
}

// manifestName reads CURRENT: one line, the manifest's name.
func manifestName(f file) (string, error) {
	name, ok := strings.CutSuffix(string(f.bytes), "\n")
	if !ok {
		return "", &fault.CorruptError{File: f.name, Offset: int64(len(f.bytes)), Reason: "CURRENT does not end its line", Truncated: true}
	}
	digits, ok := strings.CutPrefix(name, "MANIFEST-")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", fault.Corrupt(f.name, 0, "CURRENT names %q, which is no MANIFEST", name)
	}
	return name, nil
}

// Close closes the tables that are kept open. Cursors must be closed before.
func (db *DB) Close() error { return errors.Join(db.early.close(), db.tables.close()) }

// Families gives the column families by ID. The slices must not be changed.
func (db *DB) Families() []Family { return db.families }

// Family gives the family of that name.
func (db *DB) Family(name string) (Family, bool) {
	for _, f := range db.families {
		if f.Name == name {
			return f, true
		}
	}
	return Family{}, false
}

// LastSequence is the newest sequence number that the MANIFEST knows.
func (db *DB) LastSequence() uint64 { return db.lastSeq }

// Stats says what reading has cost so far.
type Stats struct {
	Reads     int64 // ranges asked of storage
	ReadBytes int64
	Blocks    int64 // blocks uncompressed
	Rereads   int64 // blocks that had to be read twice since their checksum did not match at first
	Wanted    int64 // blocks that look-ups asked for together
	Ranges    int64 // requests that brought these
}

// Plus adds two counts up.
func (s Stats) Plus(o Stats) Stats {
	return Stats{s.Reads + o.Reads, s.ReadBytes + o.ReadBytes, s.Blocks + o.Blocks, s.Rereads + o.Rereads, s.Wanted + o.Wanted, s.Ranges + o.Ranges}
}

// Minus gives what was counted since o.
func (s Stats) Minus(o Stats) Stats {
	return Stats{s.Reads - o.Reads, s.ReadBytes - o.ReadBytes, s.Blocks - o.Blocks, s.Rereads - o.Rereads, s.Wanted - o.Wanted, s.Ranges - o.Ranges}
}

// Stats gives the counts of all tables together.
func (db *DB) Stats() Stats {
	s := &db.stats
	return Stats{s.Reads.Load(), s.ReadBytes.Load(), s.Blocks.Load(), s.Rereads.Load(), db.planned.wanted.Load(), db.planned.ranges.Load()}
}

// planned counts what was fetched for look-ups.
type planned struct{ wanted, ranges atomic.Int64 }

// Link is the way to the files.
func (db *DB) Link() *fetch.Link { return db.link }

func (db *DB) openTable(ctx context.Context, m FileMeta) (*sst.Table, error) {
	f, ok := db.early.take(m.Name())
	if !ok {
		var err error
		if f, err = db.open(ctx, m.Name()); err != nil {
			return nil, missing(m.Name(), err)
		}
	}
	if m.Size != f.Size() {
		_ = f.Close()
		return nil, &fault.CorruptError{File: f.Name(), Offset: f.Size(), Truncated: f.Size() < m.Size,
			Reason: fmt.Sprintf("%s has %d bytes, the MANIFEST says %d", m.Name(), f.Size(), m.Size)}
	}
	t, err := sst.Open(ctx, f, sst.Options{LargestSeq: m.LargestSeq, Stats: &db.stats})
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return t, nil
}

// Counts are what the tables of a family say of themselves: entries, not rows, as a key may have several.
type Counts struct {
	Files, Entries, Deletions, MergeOperands, RangeDeletions, Bytes, RawKeyBytes, RawValueBytes uint64
}

// Counts opens each table of the family once.
func (db *DB) Counts(ctx context.Context, familyName string) (Counts, error) {
	var c Counts
	f, _ := db.Family(familyName)
	err := db.tables.each(ctx, f.Files, func(m FileMeta, r *tableRef) {
		p := r.table.Properties()
		c.Files++
		c.Bytes += uint64(m.Size)
		c.Entries += p.Entries
		c.Deletions += p.Deletions
		c.MergeOperands += p.MergeOperands
		c.RangeDeletions += p.RangeDeletions
		c.RawKeyBytes += p.RawKeySize
		c.RawValueBytes += p.RawValueSize
	})
	return c, err
}

// Properties gives what one table says of itself.
func (db *DB) Properties(ctx context.Context, m FileMeta) (sst.Properties, error) {
	r, err := db.tables.acquire(ctx, m)
	if err != nil {
		return sst.Properties{}, err
	}
	defer db.tables.release(r)
	return *r.table.Properties(), nil
}
