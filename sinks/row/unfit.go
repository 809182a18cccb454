package row

import (
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
)

// UnfitError is why a target can't hold a value, and what may stand in for the value where the user allows that.
type UnfitError struct {
	Reason  string
	Instead func(value []byte) []byte // gives a JSON value that the target can hold, nil for null
}

func (e *UnfitError) Error() string { return e.Reason }

// Clean puts U+FFFD in the place of each NUL and each lone surrogate.
func Clean(value []byte) []byte { return jsonscan.AppendReplaced(nil, value) }

// Null gives up the value.
func Null([]byte) []byte { return nil }

// Cut keeps the first characters of a string.
func Cut(characters int) func([]byte) []byte {
	return func(value []byte) []byte {
		text, _ := jsonscan.AppendText(nil, value)
		end := 0
		for range characters {
			_, n := utf8.DecodeRune(text[end:])
			end += n
		}
		return jsonscan.AppendQuoted(nil, string(text[:end]))
	}
}

// CutSecond keeps so many digits of the second in a time.
func CutSecond(digits int) func([]byte) []byte {
	return func(value []byte) []byte {
		point := 0
		for point < len(value) && value[point] != '.' {
			point++
		}
		end := point
		for end < len(value) && (end == point || value[end] >= '0' && value[end] <= '9') {
			end++
		}
		keep := min(point+1+digits, end)
		if digits == 0 {
			keep = point
		}
		return append(append([]byte(nil), value[:keep]...), value[end:]...)
	}
}
