package stream

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/jsonscan"
)

// parsed is one change line. Its bytes alias the line.
type parsed struct {
	Change
	object []byte // the member "object", raw; nil when the change is inline
}

// parseLine reads a change line. Its members may have any order, and those it doesn't know are passed over. What a key or a row holds is for
// whoever decodes it.
func parseLine(b []byte) (parsed, error) {
	var p parsed
	m := jsonscan.MembersOf(b)
	for m.Next() {
		if err := p.member(&m); err != nil {
			return parsed{}, fault.Corrupt(changeLine, int64(m.End), "member %s: %v", m.Name, err)
		}
	}
	if err := m.Err(); err != nil {
		return parsed{}, malformed(err)
	}
	if p.Op == 0 || p.Seq == 0 {
		return parsed{}, fault.Corrupt(changeLine, int64(len(b)), "no change: op or source.seq is missing")
	}
	return p, nil
}

// changeLine stands for the file in errors.
const changeLine = "change line"

func malformed(err error) error {
	var syntax *jsonscan.SyntaxError
	if errors.As(err, &syntax) {
		return fault.Corrupt(changeLine, int64(syntax.Offset), "%s", syntax.Reason)
	}
	return fault.Corrupt(changeLine, 0, "%v", err)
}

var (
	errNoObject = errors.New("an object or null wanted")
	errNoNumber = errors.New("a number of 1 to 19 digits wanted")
)

func (p *parsed) member(m *jsonscan.Members) (err error) {
	switch string(m.Name) {
	case `"op"`:
		if v := m.Value; len(v) == 3 && v[0] == '"' {
			p.Op = v[1]
		}
	case `"key"`:
		p.Key, err = nullable(m.Value)
	case `"before"`:
		p.Before, err = nullable(m.Value)
	case `"after"`:
		p.After, err = nullable(m.Value)
	case `"object"`:
		p.object, err = nullable(m.Value)
	case `"source"`:
		err = p.source(m.Value)
	}
	return err
}

func (p *parsed) source(object []byte) (err error) {
	m := jsonscan.MembersOf(object)
	for m.Next() {
		if string(m.Name) != `"seq"` {
			continue
		}
		if p.Seq, err = number(m.Value); err != nil {
			return err
		}
	}
	return m.Err()
}

// nullable gives an object's bytes, or nil for null.
func nullable(v []byte) ([]byte, error) {
	switch {
	case jsonscan.IsNull(v):
		return nil, nil
	case v[0] != '{':
		return nil, errNoObject
	}
	return v, nil
}

func number(v []byte) (n uint64, err error) {
	if len(v) > 19 {
		return 0, errNoNumber
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, errNoNumber
		}
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// objectRef is the member "object": where a change lies that is larger than a message.
type objectRef struct {
	Bucket string `json:"bucket"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
}

const maxObject = 1 << 31 // values in a state have a signed 32-bit length

func parseObjectRef(b []byte) (objectRef, error) {
	var o objectRef
	if err := json.Unmarshal(b, &o); err != nil {
		return o, fmt.Errorf("object reference: %w", err)
	}
	if o.Name == "" || o.Size <= 0 || o.Size > 3*maxObject {
		return o, fmt.Errorf("object reference %q of %d bytes", o.Name, o.Size)
	}
	return o, nil
}
