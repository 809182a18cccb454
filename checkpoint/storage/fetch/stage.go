package fetch

import "sort"

// Stage holds ranges of one file that were fetched before they are needed. The zero value holds none; so does nil.
type Stage struct {
	Else   *Stage  // is asked for what is not here
	pieces []piece // ascending and disjoint
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

func (s *Stage) reset() {
	clear(s.pieces)
	s.pieces = s.pieces[:0]
}

func (s *Stage) add(off int64, b []byte) { s.pieces = append(s.pieces, piece{off, b}) }

// Staged makes a stage that holds one range.
func Staged(off int64, b []byte) *Stage { return &Stage{pieces: []piece{{off, b}}} }

// Bytes gives n bytes from off, which must not be changed, or nil where they are not all there.
func (s *Stage) Bytes(off int64, n int) []byte {
	if s == nil {
		return nil
	}
	i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].off > off }) - 1
	if i >= 0 {
		if b := s.pieces[i].bytes(off, n); b != nil {
			return b
		}
	}
	return s.Else.Bytes(off, n)
}
