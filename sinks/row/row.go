package row

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/stream"
)

var (
	// ErrSurrogate marks a string with half a surrogate pair: Java holds such text, UTF-8 can't.
	ErrSurrogate error = &UnfitError{Reason: "the text holds a lone surrogate, which UTF-8 can't encode", Instead: Clean}
	// ErrNoBytes marks a value that should be bytes in base64.
	ErrNoBytes = errors.New("the value is not base64")
)

// NewScanner makes a scanner of rows with these columns. The values of ignored columns, which the rows may have too, stand behind theirs.
func NewScanner(columns []stream.Column, ignored ...stream.Column) *jsonscan.Columns {
	names := make([]string, 0, len(columns)+len(ignored))
	for _, c := range columns {
		names = append(names, c.Name)
	}
	for _, c := range ignored {
		names = append(names, c.Name)
	}
	return jsonscan.NewColumns(names)
}

// IsString tells whether a value is a JSON string.
func IsString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// AppendText appends what a scanned value says: the characters of a string, the bytes of anything else.
func AppendText(dst, value []byte) ([]byte, error) {
	if !IsString(value) {
		return append(dst, value...), nil
	}
	text, exact := jsonscan.AppendText(dst, value)
	if !exact {
		return dst, ErrSurrogate
	}
	return text, nil
}

// AppendBytes appends what a base64 string stands for.
func AppendBytes(dst, value []byte) ([]byte, error) {
	if !IsString(value) {
		return dst, ErrNoBytes
	}
	b, err := base64.StdEncoding.AppendDecode(dst, value[1:len(value)-1])
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrNoBytes, err)
	}
	return b, nil
}
