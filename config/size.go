package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as 64MiB, 2GiB or 1500MB.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// MinMemory is the least that a process which publishes can do with.
const MinMemory Size = 128 << 20

var errSize = errors.New("must be a size such as 64MiB, 512MiB or 2GiB")

// ParseSize reads a Size. A number without a unit is refused: it could mean anything.
func ParseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > 1<<62/u.bytes {
			return 0, errSize
		}
		return Size(n * u.bytes), nil
	}
	return 0, errSize
}

// String gives the largest binary unit that needs no fraction.
func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; s > 0 && int64(s)%u.bytes == 0 {
			return fmt.Sprint(int64(s)/u.bytes, u.name)
		}
	}
	return fmt.Sprint(int64(s), "B")
}

// Set and Type make a Size a flag.
func (s *Size) Set(text string) (err error) {
	*s, err = ParseSize(text)
	return err
}

// Type names the value in help texts.
func (s *Size) Type() string { return "size" }
