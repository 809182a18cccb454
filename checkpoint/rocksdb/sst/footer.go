package sst

import (
	"encoding/binary"
	"fmt"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/coding"
	"github.com/statebridge/statebridge/fault"
)

const (
	magic       = 0x88e241b785f4cff7
	magicLegacy = 0xdb4775248b80fb57 // format version 0: no version field, CRC32C
	magicPlain  = 0x8242229663bf9564
	magicCuckoo = 0x926789d0c5f17873

	footerSize       = 53 // format version 1 and up
	footerSizeLegacy = 48
	trailerSize      = 5
	maxFormatVersion = 7
	extendedMagic    = 0x007a003e // where the handles were before format version 6
)

// handle says where a block is, without its trailer.
type handle struct {
	offset, size uint64
}

// footer is the end of a table file.
//
//	+---------------+-----------------------------------------------+--------------+------------+
//	| checksum (1B) | metaindex handle, index handle, zeros (40B)   | version (4B) | magic (8B) |   up to version 5
//	+---------------+-----------------------------------------------+--------------+------------+
//	| checksum (1B) | 3e 00 7a 00, footer checksum (4B), base (4B), | version (4B) | magic (8B) |   from version 6: the
//	|               | metaindex size (4B), zeros (24B)              |              |            |   metaindex ends just before
//	+---------------+-----------------------------------------------+--------------+------------+
type footer struct {
	version   uint32
	checksum  checksumType
	base      uint32 // base of context checksums; 0: none
	metaindex handle
	index     handle // size 0 from version 6: the metaindex names it
	start     int64  // where it begins: no block reaches beyond
}

// decodeFooter reads the footer from tail, the last bytes of a file of the given size.
func decodeFooter(file string, tail []byte, fileSize int64) (*footer, error) {
	if len(tail) < footerSizeLegacy {
		return nil, &fault.CorruptError{File: file, Truncated: true,
			Reason: fmt.Sprintf("%d bytes are too few for a table", fileSize)}
	}
	switch m := binary.LittleEndian.Uint64(tail[len(tail)-8:]); m {
	case magicLegacy:
		b := tail[len(tail)-footerSizeLegacy:]
		f := &footer{checksum: crc32c, start: fileSize - footerSizeLegacy}
		return f, f.handles(file, b[:40])
	case magicPlain, magicCuckoo:
		return nil, fault.Unsupported(file, fileSize-8, "plain and cuckoo tables are unsupported, only block-based ones are read")
	case magic:
	default:
		return nil, fault.Corrupt(file, fileSize-8, "table magic is %#x", m)
	}
	if len(tail) < footerSize {
		return nil, &fault.CorruptError{File: file, Truncated: true, Reason: "footer cut short"}
	}
	b := tail[len(tail)-footerSize:]
	f := &footer{version: binary.LittleEndian.Uint32(b[41:]), checksum: checksumType(b[0]), start: fileSize - footerSize}
	if f.version == 0 || f.version > maxFormatVersion {
		return nil, fault.Unsupported(file, f.start+41, "format version %d unsupported (up to %d are)", f.version, maxFormatVersion)
	}
	if f.checksum > maxChecksum {
		return nil, fault.Unsupported(file, f.start, "checksum type %d unsupported", f.checksum)
	}
	if f.version >= 6 {
		return f, f.extended(file, b)
	}
	return f, f.handles(file, b[1:41])
}

func (f *footer) handles(file string, b []byte) error {
	r := coding.NewReader(file, f.start+1, b)
	f.metaindex = handle{r.Uvarint64(), r.Uvarint64()}
	f.index = handle{r.Uvarint64(), r.Uvarint64()}
	return r.Err()
}

func (f *footer) extended(file string, b []byte) error {
	r := coding.NewReader(file, f.start+1, b[1:])
	if r.Fixed32() != extendedMagic {
		return fault.Corrupt(file, f.start+1, "footer of format version %d without its mark", f.version)
	}
	sum := r.Fixed32()
	f.base = r.Fixed32()
	size := uint64(r.Fixed32())
	if f.base == 0 {
		return fault.Corrupt(file, f.start+9, "base of context checksums is zero")
	}
	blank := append([]byte(nil), b...)
	clear(blank[5:9])
	if f.checksum != noChecksum && f.checksum.sum(blank)+f.context(uint64(f.start)) != sum {
		return fault.Corrupt(file, f.start, "checksum mismatch in footer")
	}
	r.Take(16)
	if r.Fixed64() != 0 {
		return fault.Unsupported(file, f.start+33, "footer uses a feature newer than format version %d", f.version)
	}
	end := uint64(f.start) - trailerSize
	if f.start < trailerSize || size > end {
		return fault.Corrupt(file, f.start+13, "metaindex of %d bytes does not fit the file", size)
	}
	f.metaindex = handle{end - size, size}
	return nil
}

// context is what format version 6 adds to the checksum of the block at off, so that a misplaced block is noticed.
func (f *footer) context(off uint64) uint32 {
	if f.base == 0 {
		return 0
	}
	return f.base ^ (uint32(off) + uint32(off>>32))
}
