package flink

import (
	"context"
	"io"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// position is a byte in a stream that may be compressed: byte skip of what is decoded from file offset at.
type position struct {
	at   int64
	skip int
}

// source gives the bytes of a stream piece by piece.
type source interface {
	// fill appends a piece to dst, and says at which offset of the file it started; io.EOF comes alone.
	fill(ctx context.Context, dst []byte) (filled []byte, at int64, err error)
}

// plain reads part of a file as it is.
type plain struct {
	f        storage.File
	off, end int64
	piece    int
	most     int
}

// Pieces grow, so that a small state costs a small read.
const (
	minPiece = 8 << 10
	maxPiece = 256 << 10
	farPiece = 4 << 20
)

func newPlain(f storage.File, from position, end int64) *plain {
	p := &plain{f: f, off: from.at + int64(from.skip), end: end, piece: minPiece, most: maxPiece}
	if fetch.Of(f) != nil {
		p.piece, p.most = maxPiece, farPiece
	}
	return p
}

func (p *plain) fill(ctx context.Context, dst []byte) ([]byte, int64, error) {
	at := p.off
	n := int(min(int64(p.piece), p.end-at))
	if n <= 0 {
		return dst, at, io.EOF
	}
	dst = slices.Grow(dst, n)
	if err := p.f.ReadAt(ctx, dst[len(dst):len(dst)+n], at); err != nil {
		return dst, at, err
	}
	p.off += int64(n)
	p.piece = min(2*p.piece, p.most)
	return dst[:len(dst)+n], at, nil
}
