package jsonscan

// Members walks the members of an object or the elements of an array. The first fault ends the walk.
//
//	m := jsonscan.MembersOf(text)
//	for m.Next() { use(m.Name, m.Value) }
//	err := m.Err()
type Members struct {
	Name  []byte // in its quotes and as it is written; nil in an array
	Value []byte
	End   int // where Value ends in the text
	Index int // of the member, from 0

	text    []byte
	at      int
	closing byte
	err     error
}

// MembersOf begins a walk over text, which must be one object or array and nothing else.
func MembersOf(text []byte) Members {
	at := Space(text, 0)
	if at >= len(text) || text[at] != '{' && text[at] != '[' {
		return Members{err: fail(at, "an object or array wanted")}
	}
	return Members{text: text, at: at + 1, closing: text[at] + 2, Index: -1}
}

// Err says why Next ended early, or nil.
func (m *Members) Err() error { return m.err }

// Next moves to the next member; false at the end and at a fault.
func (m *Members) Next() bool {
	if m.err != nil || m.closing == 0 {
		return false
	}
	at := Space(m.text, m.at)
	if at < len(m.text) && m.text[at] == m.closing && (m.Index < 0 || m.Value != nil) {
		return m.finish(at + 1)
	}
	if m.Index >= 0 {
		if at >= len(m.text) || m.text[at] != ',' {
			return m.fault(fail(at, "no comma"))
		}
		at = Space(m.text, at+1)
	}
	m.Index++
	return m.member(at)
}

func (m *Members) member(at int) bool {
	if m.closing == '}' {
		end, err := nameEnd(m.text, at)
		if err != nil {
			return m.fault(err)
		}
		m.Name = quotedName(m.text[at:end])
		at = Space(m.text, end)
	}
	end, err := ValueEnd(m.text, at)
	if err != nil {
		return m.fault(err)
	}
	m.Value, m.End, m.at = m.text[at:end], end, end
	return true
}

// quotedName cuts off the colon and the space before it.
func quotedName(b []byte) []byte {
	n := len(b) - 1
	for b[n-1] != '"' {
		n--
	}
	return b[:n]
}

func (m *Members) finish(at int) bool {
	m.closing = 0
	if at = Space(m.text, at); at != len(m.text) {
		m.err = fail(at, "bytes follow the value")
	}
	return false
}

func (m *Members) fault(err error) bool {
	m.err = err
	return false
}
