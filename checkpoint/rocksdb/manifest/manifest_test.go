package manifest

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/fault"
)

// record frames one version edit as a log does.
func record(payload []byte) []byte {
	b := append(make([]byte, 4), byte(len(payload)), byte(len(payload)>>8), full)
	b = append(b, payload...)
	sum := bits.RotateLeft32(crc32.Checksum(b[6:], castagnoli), -15) + 0xa282ead8
	binary.LittleEndian.PutUint32(b, sum)
	return b
}

// build puts together an edit from tags and numbers (ints) and length-prefixed strings.
func build(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.AppendUvarint(b, uint64(p))
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		}
	}
	return b
}

func key(user string, seq uint64, kind ikey.Kind) string {
	return string(ikey.Append(nil, []byte(user), seq, kind))
}

// newFile is a newFile4 field up to its custom fields.
func newFile(level, number int, smallest, largest string) []byte {
	return build(tagNewFile4, level, number, 1000, smallest, largest, 1, 9)
}

func read(edits ...[]byte) (*Version, error) {
	var b []byte
	for _, e := range edits {
		b = append(b, record(e)...)
	}
	return Read("MANIFEST-000001", b)
}

var (
	start = build(tagComparator, Comparator, tagLogNumber, 0, tagNextFileNumber, 9, tagLastSequence, 77)
	a, z  = key("a", 9, ikey.Value), key("z", 1, ikey.Value)
)

func TestReadsWhatDecidesNothing(t *testing.T) {
	for name, edit := range map[string][]byte{
		"boundary key of type 26":   append(newFile(0, 5, key("a", ikey.MaxSeq, 26), z), build(fieldEnd)...),
		"unknown skippable field":   build(tagSkippable|99, "whatever"),
		"unknown file field":        append(newFile(0, 5, a, z), build(63, "x", fieldEnd)...),
		"path id":                   append(newFile(0, 5, a, z), build(fieldPathID, "\x01", fieldEnd)...),
		"old file tags":             build(tagNewFile, 0, 5, 10, a, z, tagNewFile2, 1, 6, 10, a, z, 1, 2, tagNewFile3, 2, 7, 0, 10, a, z, 1, 2),
		"compaction cursor":         build(tagCompactCursor, 1, a),
		"blob file":                 build(tagBlobAddition, 1, 2, 3, "method", "sum", 5, "field", 0, tagBlobGarbageOld, 1, 2, 3, 0),
		"write-ahead logs":          build(tagWalAdditionOld, 4, 2, 100, 1, tagWalDeletionOld, 4, 8199, "\x05\x01", 8200, "\x05"),
		"database id":               build(8193, "some-id", 8198, "ts", 8201, "\x01", 8203, "\x07"),
		"atomic group of one":       build(tagInAtomicGroup, 0),
		"family":                    build(tagColumnFamily, 3, tagColumnFamilyAdd, "orders", tagComparator, Comparator, tagMaxColumnFamily, 3),
		"min log number to keep":    build(tagMinLogNumberToKeep, 3, tagPrevLogNumber, 0),
		"zero-length record behind": {},
	} {
		if _, err := read(start, edit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit []byte
		kind error
		text string
	}{
		"must-understand tag":         {build(57, "x"), fault.ErrUnsupported, "tag 57 "},
		"must-understand file field":  {append(newFile(0, 5, a, z), build(66, "x", fieldEnd)...), fault.ErrUnsupported, "field 66 "},
		"comparator":                  {build(tagComparator, "rocksdb.ReverseBytewiseComparator"), fault.ErrUnsupported, `"rocksdb.ReverseBytewiseComparator" unsupported, only "leveldb.BytewiseComparator"`},
		"file that is not there":      {build(tagDeletedFile, 0, 5), fault.ErrCorrupt, "file 5 of level 0"},
		"file of no family":           {append(newFile(0, 5, a, z), build(fieldEnd, tagColumnFamily, 8)...), fault.ErrCorrupt, "unknown column family 8"},
		"short boundary":              {append(newFile(0, 5, "short", z), build(fieldEnd)...), fault.ErrCorrupt, "boundary key of 5 bytes"},
		"file fields without end":     {newFile(0, 5, a, z), fault.ErrTruncated, "1 bytes wanted"},
		"level":                       {build(tagDeletedFile, 1000, 5), fault.ErrCorrupt, "level 1000"},
		"atomic group without an end": {build(tagInAtomicGroup, 1), fault.ErrTruncated, "without its last 1"},
	} {
		_, err := read(start, c.edit)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplay(t *testing.T) {
	family := []any{tagColumnFamily, 3}
	v, err := read(start,
		build(append(family, tagColumnFamilyAdd, "orders")...),
		append(newFile(0, 5, a, z), build(append([]any{fieldEnd}, family...)...)...),
		append(append(build(tagDeletedFile, 0, 5), newFile(1, 5, a, z)...), build(append([]any{fieldEnd}, family...)...)...),
		build(tagColumnFamily, 4, tagColumnFamilyAdd, "gone"),
		build(tagColumnFamily, 4, tagColumnFamilyDrop))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Families) != 2 || v.Families[1].Name != "orders" || v.Families[1].ID != 3 || v.LastSequence != 77 {
		t.Fatalf("%+v", v)
	}
	if f := v.Families[1].Files; len(f) != 1 || f[0].Level != 1 || f[0].Number != 5 || f[0].LargestSeq != 9 {
		t.Errorf("%+v", f)
	}
}

func TestRecordInFragments(t *testing.T) {
	long := build(tagSkippable|1, strings.Repeat("x", 2*logBlock))
	var b []byte
	kind := byte(first)
	for len(long) > 0 {
		n := min(len(long), logBlock-logHeader)
		if n == len(long) {
			kind = last
		}
		f := record(long[:n])
		f[6] = kind
		sum := bits.RotateLeft32(crc32.Checksum(f[6:], castagnoli), -15) + 0xa282ead8
		binary.LittleEndian.PutUint32(f, sum)
		b, long, kind = append(b, f...), long[n:], middle
	}
	if _, err := Read("m", append(b, record(start)...)); err != nil {
		t.Error(err)
	}
	for _, cut := range []int{3, logBlock, len(b) - 1} {
		if _, err := Read("m", b[:cut]); !errors.Is(err, fault.ErrTruncated) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	if _, err := Read("m", append(record(start), make([]byte, 40)...)); err != nil {
		t.Errorf("zeros behind: %v", err)
	}
}

// fixture gives a MANIFEST that RocksDB wrote.
func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	z, err := zip.OpenReader(filepath.Join("..", "testdata", name+".zip"))
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	for _, e := range z.File {
		if strings.HasPrefix(e.Name, "MANIFEST") {
			r, err := e.Open()
			if err != nil {
				tb.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				tb.Fatal(err)
			}
			return b
		}
	}
	tb.Fatal("no MANIFEST")
	return nil
}

func known(err error) bool {
	return err == nil || errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported)
}

func FuzzRead(f *testing.F) {
	f.Add(fixture(f, "six-fv5"))
	f.Add(fixture(f, "ten-fv7"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Read("fuzz", b); !known(err) {
			t.Fatal(err)
		}
	})
}

func FuzzVersionEdit(f *testing.F) {
	for _, name := range []string{"six-fv5", "ten-fv7"} {
		log := &logReader{file: name, buf: fixture(f, name)}
		for r, ok, _ := log.next(); ok; r, ok, _ = log.next() {
			f.Add(r)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEdit("fuzz", 0, b)
		if !known(err) {
			t.Fatal(err)
		}
		if err == nil {
			s := &replay{file: "fuzz", families: map[uint32]*family{0: newFamily("default")}}
			if err := s.apply(e, 0); !known(err) {
				t.Fatal(err)
			}
			for _, fam := range s.families {
				sorted(fam.files)
			}
		}
	})
}
