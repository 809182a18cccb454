package render

import (
	"encoding/json"

	"github.com/statebridge/statebridge/jsonscan"
)

// appendPlain appends what a value says to a person: a string without its quotes, anything else as it is. A string in a json column
// keeps its quotes where it would read as another JSON value without them (the text "1" beside the number 1) or holds a lone surrogate.
func appendPlain(dst, value []byte, k kind) []byte {
	if value[0] != '"' {
		return append(dst, value...)
	}
	start := len(dst)
	dst, exact := jsonscan.AppendText(dst, value)
	if k == jsonKind && (!exact || readsAsJSON(dst[start:])) {
		return append(dst[:start], value...)
	}
	return dst
}

func readsAsJSON(text []byte) bool {
	text = text[jsonscan.Space(text, 0):]
	if len(text) == 0 {
		return false
	}
	switch c := text[0]; {
	case c == '{', c == '[', c == '"', c == '-', c >= '0' && c <= '9', c == 't', c == 'f', c == 'n':
		return json.Valid(text)
	}
	return false
}
