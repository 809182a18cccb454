package verify

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/statebridge/statebridge/sinks"
)

// spool keeps differences in a file, in their order.
type spool struct {
	file *os.File
	to   *bufio.Writer
	enc  *json.Encoder
}

// line is a difference in the file.
type line struct {
	Kind    string          `json:"kind"`
	Key     json.RawMessage `json:"key"`
	Columns []string        `json:"columns,omitempty"`
	Want    json.RawMessage `json:"want,omitempty"`
	Have    json.RawMessage `json:"have,omitempty"`
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, "differences-")
	if err != nil {
		return nil, err
	}
	s := &spool{file: f, to: bufio.NewWriter(f)}
	s.enc = json.NewEncoder(s.to)
	s.enc.SetEscapeHTML(false)
	return s, nil
}

func (s *spool) add(d sinks.Difference) error {
	return s.enc.Encode(line{d.Kind, d.Key, d.Columns, d.Want, d.Have})
}

// each reads all that was added. What it gives is not used again.
func (s *spool) each(f func(sinks.Difference) error) error {
	if err := s.to.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for d := json.NewDecoder(bufio.NewReader(s.file)); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(sinks.Difference{Kind: l.Kind, Key: l.Key, Columns: l.Columns, Want: l.Want, Have: l.Have}); err != nil {
			return err
		}
	}
}

func (s *spool) close() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }
