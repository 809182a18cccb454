package sst

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression bytes of a block's trailer.
const (
	noCompression = 0
	snappyBlock   = 1
	deflateBlock  = 2
	bzip2Block    = 3
	lz4Block      = 4
	lz4hcBlock    = 5
	xpressBlock   = 6
	zstdFrame     = 7
)

// maxBlock bounds a block's claimed size. RocksDB's own limit for a value is 4 GiB, a JVM's 2 GiB.
const maxBlock = 1<<31 - 1

var errSize = errors.New("uncompressed size is not the one announced")

// codecError is a compression that is not read here.
type codecError string

func (e codecError) Error() string { return string(e) }

// decompressor undoes the compression of one table's blocks. It is safe for concurrent use.
type decompressor struct {
	version uint32 // of the table's format
	dict    []byte
	zstd    *zstd.Decoder // with the dictionary; nil without one
}

// sharedZstd serves all tables without a dictionary; DecodeAll of one decoder may be called concurrently.
var sharedZstd = sync.OnceValue(func() *zstd.Decoder { return newZstd(nil) })

// inflaters keeps readers of deflate for their tables.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func newZstd(dict []byte) *zstd.Decoder {
	opts := []zstd.DOption{zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock)}
	switch {
	case len(dict) >= 4 && binary.LittleEndian.Uint32(dict) == 0xec30a437: // trained
		opts = append(opts, zstd.WithDecoderDicts(dict))
	case len(dict) > 0:
		opts = append(opts, zstd.WithDecoderDictRaw(0, dict))
	}
	d, err := zstd.NewReader(nil, opts...)
	if err != nil { // the dictionary is malformed
		return nil
	}
	return d
}

func newDecompressor(version uint32, dict []byte) (*decompressor, error) {
	d := &decompressor{version: version, dict: dict}
	if len(dict) > 0 {
		if d.zstd = newZstd(dict); d.zstd == nil {
			return nil, errors.New("malformed dictionary")
		}
	}
	return d, nil
}

// block undoes the compression of src into dst, which it may grow. The result aliases src when that is not compressed.
func (d *decompressor) block(dst, src []byte, compression byte) ([]byte, error) {
	switch compression {
	case noCompression:
		return src, nil
	case snappyBlock:
		n, err := snappy.DecodedLen(src)
		if err != nil || n/64 > len(src)/3+1 { // three bytes give at most 64
			return nil, snappy.ErrCorrupt
		}
		return snappy.Decode(dst[:cap(dst)], src)
	case xpressBlock:
		return nil, codecError("compression xpress unsupported")
	case deflateBlock, bzip2Block, lz4Block, lz4hcBlock, zstdFrame:
		return d.sized(dst, src, compression)
	}
	return nil, codecError(fmt.Sprintf("compression type %d unsupported", compression))
}

// sized handles the compressions that carry no size of their own: RocksDB puts it in front.
func (d *decompressor) sized(dst, src []byte, compression byte) ([]byte, error) {
	size, src, err := d.size(src, compression)
	if err != nil {
		return nil, err
	}
	switch compression {
	case deflateBlock:
		return inflate(dst, src, d.dict, size)
	case bzip2Block:
		return readAll(dst, bzip2.NewReader(bytes.NewReader(src)), size)
	case zstdFrame:
		z := d.zstd
		if z == nil {
			z = sharedZstd()
		}
		out, err := z.DecodeAll(src, room(dst, size, 64*len(src)))
		return exactly(out, size, err)
	}
	if size <= 0 || size > 256*len(src)+64 { // nothing is no block, and with no room the decoder crashes; more LZ4 cannot give
		return nil, errSize
	}
	out := room(dst, size, size)[:size]
	n, err := lz4.UncompressBlockWithDict(src, out, d.dict)
	return exactly(out[:max(n, 0)], size, err)
}

func inflate(dst, src, dict []byte, size int) ([]byte, error) {
	r := inflaters.Get().(io.Reader)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(src), dict); err != nil {
		return nil, err
	}
	return readAll(dst, r, size)
}

// size splits the announced size off; -1 where old formats have none.
func (d *decompressor) size(src []byte, compression byte) (int, []byte, error) {
	if d.version < 2 {
		if compression != lz4Block && compression != lz4hcBlock {
			return -1, src, nil
		}
		if len(src) < 8 || binary.LittleEndian.Uint64(src) > maxBlock {
			return 0, nil, errSize
		}
		return int(binary.LittleEndian.Uint64(src)), src[8:], nil
	}
	v, n := binary.Uvarint(src)
	if n <= 0 || v > maxBlock {
		return 0, nil, errSize
	}
	return int(v), src[n:], nil
}

// room gives dst emptied, with space for size bytes, but for no more than limit before the input has shown to hold them.
func room(dst []byte, size, limit int) []byte {
	if want := min(size, max(limit, 4<<10)); cap(dst) < want {
		return make([]byte, 0, want)
	}
	return dst[:0]
}

func exactly(out []byte, size int, err error) ([]byte, error) {
	if err == nil && size >= 0 && len(out) != size {
		err = errSize
	}
	return out, err
}

// readAll reads r to its end, which must come after size bytes (or after maxBlock at most when size is -1).
func readAll(dst []byte, r io.Reader, size int) ([]byte, error) {
	limit := size
	if size < 0 {
		limit = maxBlock
	}
	b := bytes.NewBuffer(room(dst, limit+bytes.MinRead, 64<<10))
	_, err := b.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if err == nil && b.Len() > limit {
		err = errSize
	}
	return exactly(b.Bytes(), size, err)
}
