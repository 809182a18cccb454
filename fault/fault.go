// Package fault holds the two kinds of error that reading foreign bytes can give.
//
// Every room knows it and it knows none. Whatever is neither corrupt nor unsupported is an I/O error, worth a retry.
package fault

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt marks bytes that break their format.
	ErrCorrupt = errors.New("corrupt")
	// ErrTruncated marks bytes that end too early. It is a kind of ErrCorrupt; for a file that is still being written it means "not ready".
	ErrTruncated = fmt.Errorf("truncated: %w", ErrCorrupt)
	// ErrUnsupported marks a version, codec or layout that is not read here.
	ErrUnsupported = errors.New("unsupported")
)

// CorruptError says where bytes break their format. It prints "chk-7/_metadata: offset 41: 8 bytes wanted, 3 left".
type CorruptError struct {
	File      string // name or URI as the reader was given it
	Offset    int64  // bytes from the start of File; -1 where there is none
	Reason    string
	Truncated bool // the bytes ended too early
}

func (e *CorruptError) Error() string {
	if e.Offset < 0 {
		return e.File + ": " + e.Reason
	}
	return fmt.Sprintf("%s: offset %d: %s", e.File, e.Offset, e.Reason)
}

// Unwrap gives ErrTruncated or ErrCorrupt.
func (e *CorruptError) Unwrap() error {
	if e.Truncated {
		return ErrTruncated
	}
	return ErrCorrupt
}

// UnsupportedError names what is not read. It prints "chk-7/_metadata: offset 4: metadata version 99 is not supported (2 to 6 are)".
type UnsupportedError struct {
	File   string
	Offset int64 // -1 where there is none
	What   string
}

func (e *UnsupportedError) Error() string {
	switch {
	case e.File == "":
		return e.What
	case e.Offset < 0:
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s: offset %d: %s", e.File, e.Offset, e.What)
}

// Unwrap gives ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// Corrupt builds a CorruptError.
func Corrupt(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Unsupported builds an UnsupportedError; offset -1 stands for none.
func Unsupported(file string, offset int64, format string, args ...any) error {
	return &UnsupportedError{File: file, Offset: offset, What: fmt.Sprintf(format, args...)}
}
