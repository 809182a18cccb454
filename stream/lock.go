package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Occupy takes a directory for this process until release is called, or the process ends. One that another process has gives ErrInUse, with its id.
func Occupy(dir string) (release func(), err error) {
	f, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	return func() { unlock(f) }, nil
}

// lockDir takes the directory's lock, a file that also says who has it: process id, then the URL of the listener if there is one.
func lockDir(dir string) (*os.File, error) {
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	busy, err := lockFile(f)
	if busy {
		err = fmt.Errorf("%s: %w%s", dir, ErrInUse, describeHolder(name))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func unlock(f *os.File) {
	_ = f.Truncate(0)
	_ = f.Close()
}

func describeHolder(name string) string {
	b, err := os.ReadFile(name)
	if err != nil || len(b) == 0 || len(b) > 4096 {
		return ""
	}
	lines := strings.Fields(string(b))
	text := " by process " + lines[0]
	if len(lines) > 1 {
		text += ", whose server listens on " + lines[1]
	}
	return text
}
