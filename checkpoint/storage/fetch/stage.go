package fetch

import "sort"

// Stage holds ranges of one file that were sent for before they are needed. The zero value holds none; so does nil.
type Stage struct {
	Else   *Stage    // is asked for what is not here
	pieces []*coming // ascending and disjoint
}

// piece is a range that has come.
type piece struct {
	off int64
	b   []byte
}

// bytes gives n bytes from off, nil where they are not all there.
func (p *piece) bytes(off int64, n int) []byte {
	if at := off - p.off; at >= 0 && at+int64(n) <= int64(len(p.b)) {
		return p.b[at : at+int64(n) : at+int64(n)]
	}
	return nil
}

// from gives what there is from off on.
func (p *piece) from(off int64) []byte {
	if at := off - p.off; at >= 0 && at < int64(len(p.b)) {
		return p.b[at:]
	}
	return nil
}

// coming is a piece under way.
type coming struct {
	piece
	held int64         // of the link's memory
	done chan struct{} // closed once it is there or has failed; nil: it is there
	err  error
}

// wait tells whether the piece has come.
func (c *coming) wait() bool {
	if c.done != nil {
		<-c.done
	}
	return c.err == nil
}

func (s *Stage) reset() {
	clear(s.pieces)
	s.pieces = s.pieces[:0]
}

// Staged makes a stage that holds one range.
func Staged(off int64, b []byte) *Stage { return &Stage{pieces: []*coming{{piece: piece{off, b}}}} }

// Bytes gives n bytes from off, which must not be changed, or nil where they are not all there. It waits for what is under way.
func (s *Stage) Bytes(off int64, n int) []byte {
	c := s.find(off, n)
	if c == nil || !c.wait() {
		return nil
	}
	return c.bytes(off, n)
}

// Has tells whether the bytes are there or under way.
func (s *Stage) Has(off int64, n int) bool { return s.find(off, n) != nil }

func (s *Stage) find(off int64, n int) *coming {
	for ; s != nil; s = s.Else {
		i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].off > off }) - 1
		if i >= 0 && s.pieces[i].bytes(off, n) != nil {
			return s.pieces[i]
		}
	}
	return nil
}
