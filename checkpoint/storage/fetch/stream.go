package fetch

import (
	"context"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Stream shows a part of a file from front to back. While one piece of it is looked at the next are on their way: at first one,
// twice as many with each that is used up, as far as its share and the link's memory reach. It serves one goroutine, and must be closed.
type Stream struct {
	link   *Link
	file   storage.File
	ctx    context.Context
	cancel context.CancelFunc
	next   int64 // of what was not asked for yet
	end    int64
	size   int64 // of a piece
	depth  int   // pieces that may be under way
	most   int

	cur    piece
	coming []*coming // in order
	joined []byte    // of what lies in several pieces
}

const (
	maxPiece = 1 << 20
	minPiece = 64 << 10
)

// Stream opens one over the bytes of f in [off, end). It holds about share bytes at most.
func (l *Link) Stream(ctx context.Context, f storage.File, off, end, share int64) *Stream {
	s := &Stream{link: l, file: f, next: off, end: end, depth: 1}
	s.size = min(max(share/8, minPiece), maxPiece)
	s.most = int(max(share/s.size, 2))
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Start asks for the first piece without waiting for it.
func (s *Stream) Start() { s.ask() }

// Bytes gives n bytes from off, valid until the next call. They are to be asked for in ascending order; what is left out between
// is passed over.
func (s *Stream) Bytes(off int64, n int) ([]byte, error) {
	if b := s.cur.bytes(off, n); b != nil {
		return b, nil
	}
	if off < s.cur.off {
		b := make([]byte, n)
		return b, s.file.ReadAt(s.ctx, b, off)
	}
	s.end = max(s.end, off+int64(n))
	s.joined = append(s.joined[:0], s.cur.from(off)...)
	for len(s.joined) < n {
		if err := s.advance(off + int64(len(s.joined))); err != nil {
			return nil, err
		}
		if b := s.cur.bytes(off, n); b != nil {
			return b, nil
		}
		part := s.cur.from(off + int64(len(s.joined)))
		s.joined = append(s.joined, part[:min(len(part), n-len(s.joined))]...)
	}
	return s.joined, nil
}

// advance moves to the piece that has the byte at off, which lies behind the present one.
func (s *Stream) advance(off int64) error {
	for {
		if len(s.coming) == 0 {
			s.next = max(s.next, off)
			s.ask()
		}
		c := s.coming[0]
		select {
		case <-c.done:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		s.drop()
		if c.err != nil {
			return c.err
		}
		s.cur = c.piece
		s.depth = min(2*s.depth, s.most)
		s.ask()
		if len(s.cur.from(off)) > 0 {
			return nil
		}
	}
}

// ask sends for as many pieces as may be under way. The first is needed anyway; those behind it only take memory that is free.
func (s *Stream) ask() {
	for len(s.coming) < s.depth && s.next < s.end {
		n := min(s.size, s.end-s.next)
		c := &coming{piece: piece{off: s.next}, done: make(chan struct{})}
		if len(s.coming) > 0 {
			if !s.link.streams.TryAcquire(n) {
				return
			}
			c.held = n
		}
		c.b = make([]byte, n)
		s.coming, s.next = append(s.coming, c), s.next+n
		go func() {
			defer close(c.done)
			c.err = s.file.ReadAt(s.ctx, c.b, c.off)
		}()
	}
}

// drop takes the first piece off the list; it has come.
func (s *Stream) drop() {
	s.link.streams.Release(s.coming[0].held)
	s.coming[0] = nil
	s.coming = s.coming[1:]
}

// Close ends what is under way.
func (s *Stream) Close() {
	s.cancel()
	for len(s.coming) > 0 {
		<-s.coming[0].done
		s.drop()
	}
	s.cur, s.joined = piece{}, nil
}
