package manifest

import (
	"fmt"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/coding"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
)

// Tags of a version edit.
const (
	tagComparator         = 1
	tagLogNumber          = 2
	tagNextFileNumber     = 3
	tagLastSequence       = 4
	tagCompactCursor      = 5
	tagDeletedFile        = 6
	tagNewFile            = 7
	tagPrevLogNumber      = 9
	tagMinLogNumberToKeep = 10
	tagNewFile2           = 100
	tagNewFile3           = 102
	tagNewFile4           = 103
	tagColumnFamily       = 200
	tagColumnFamilyAdd    = 201
	tagColumnFamilyDrop   = 202
	tagMaxColumnFamily    = 203
	tagInAtomicGroup      = 300
	tagBlobAddition       = 400
	tagBlobGarbage        = 401
	tagBlobAdditionOld    = 8194
	tagBlobGarbageOld     = 8195
	tagWalAdditionOld     = 8196
	tagWalDeletionOld     = 8197
	tagSkippable          = 1 << 13 // unknown tags with this bit carry a length
)

// Tags of a new file's further fields.
const (
	fieldEnd                = 1
	fieldPathID             = 65
	fieldMustUnderstandMask = 1 << 6
)

const maxLevel = 63

// File is a table file as the MANIFEST tells of it.
type File struct {
	Number      uint64
	Level       int
	Size        int64
	Smallest    []byte // internal keys
	Largest     []byte
	SmallestSeq uint64
	LargestSeq  uint64 // ikey.MaxSeq where the MANIFEST is too old to say
}

type fileID struct {
	level  int
	number uint64
}

// edit is one decoded record.
type edit struct {
	family     uint32
	comparator *string
	add        *string // name of the family it makes
	drop       bool
	lastSeq    uint64
	atomicLeft int // records of this atomic group still to come; -1 outside of one
	deleted    []fileID
	added      []File
}

// decodeEdit reads one record, which stands at offset off of file.
func decodeEdit(file string, off int64, record []byte) (*edit, error) {
	d := &decoder{Reader: coding.NewReader(file, off, record), edit: edit{atomicLeft: -1}}
	for d.Err() == nil && d.Len() > 0 {
		d.field(d.Uvarint32())
	}
	if d.Err() != nil {
		return nil, fmt.Errorf("version edit: %w", d.Err())
	}
	return &d.edit, nil
}

type decoder struct {
	*coding.Reader
	edit
}

func (d *decoder) field(tag uint32) {
	switch tag {
	case tagComparator:
		name := string(d.Bytes())
		d.comparator = &name
	case tagLogNumber, tagNextFileNumber, tagPrevLogNumber, tagMinLogNumberToKeep:
		d.Uvarint64()
	case tagLastSequence:
		d.lastSeq = d.Uvarint64()
	case tagCompactCursor:
		d.level()
		d.internalKey()
	case tagDeletedFile:
		d.deleted = append(d.deleted, fileID{d.level(), d.Uvarint64()})
	case tagNewFile, tagNewFile2, tagNewFile3, tagNewFile4:
		d.added = append(d.added, d.newFile(tag))
	default:
		d.familyField(tag)
	}
}

func (d *decoder) familyField(tag uint32) {
	switch tag {
	case tagColumnFamily:
		d.family = d.Uvarint32()
	case tagColumnFamilyAdd:
		name := string(d.Bytes())
		d.add = &name
	case tagColumnFamilyDrop:
		d.drop = true
	case tagMaxColumnFamily:
		d.Uvarint32()
	case tagInAtomicGroup:
		d.atomicLeft = int(d.Uvarint32())
	default:
		d.otherField(tag)
	}
}

// otherField steps over what decides no visibility. Blob files are refused where an entry points into one.
func (d *decoder) otherField(tag uint32) {
	switch tag {
	case tagBlobAddition, tagBlobAdditionOld:
		d.uvarints(3)
		d.Bytes() // checksum method
		d.Bytes() // checksum
		d.blobFields()
	case tagBlobGarbage, tagBlobGarbageOld:
		d.uvarints(3)
		d.blobFields()
	case tagWalAdditionOld:
		d.Uvarint64()
		for t := d.Uvarint32(); t != 1 && d.Err() == nil; t = d.Uvarint32() { // 2: synced size
			d.Uvarint64()
		}
	case tagWalDeletionOld:
		d.Uvarint64()
	default:
		if tag&tagSkippable == 0 {
			d.Unsupported("MANIFEST tag %d unsupported", tag)
		}
		d.Bytes()
	}
}

func (d *decoder) uvarints(n int) {
	for range n {
		d.Uvarint64()
	}
}

// blobFields are ended by 0; those with bit 6 must be understood, and none is known.
func (d *decoder) blobFields() {
	for t := d.Uvarint32(); t != 0 && d.Err() == nil; t = d.Uvarint32() {
		if t&fieldMustUnderstandMask != 0 {
			d.Unsupported("blob file field %d unsupported", t)
		}
		d.Bytes()
	}
}

func (d *decoder) level() int {
	v := d.Uvarint32()
	if v > maxLevel {
		d.Fail("level %d", v)
		return 0
	}
	return int(v)
}

// internalKey gives a boundary. Its kind may be one that no entry has: boundaries decide no visibility.
func (d *decoder) internalKey() []byte {
	k := d.Bytes()
	if d.Err() == nil && len(k) < ikey.TrailerSize {
		d.Fail("boundary key of %d bytes", len(k))
	}
	return k
}

func (d *decoder) newFile(tag uint32) File {
	f := File{Level: d.level(), Number: d.Uvarint64(), LargestSeq: ikey.MaxSeq}
	if tag == tagNewFile3 {
		d.Uvarint32() // path id
	}
	size := d.Uvarint64()
	if size > 1<<62 {
		d.Fail("file size %d", size)
	}
	f.Size, f.Smallest, f.Largest = int64(size), d.internalKey(), d.internalKey()
	if tag != tagNewFile {
		f.SmallestSeq, f.LargestSeq = d.Uvarint64(), d.Uvarint64()
	}
	if tag == tagNewFile4 {
		for t := d.Uvarint32(); t != fieldEnd && d.Err() == nil; t = d.Uvarint32() {
			d.customField(t)
		}
	}
	return f
}

// customField steps over one of a file's further fields. A path id does not matter: files are found by number, wherever they were.
func (d *decoder) customField(tag uint32) {
	d.Bytes()
	if tag&fieldMustUnderstandMask != 0 && tag != fieldPathID {
		d.Unsupported("MANIFEST file field %d unsupported", tag)
	}
}
