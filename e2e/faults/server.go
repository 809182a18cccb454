package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A server is one that the bridges reach through a proxy. Its files can be set back to what they were at an earlier crash.
type server struct {
	name  string
	proxy *Proxy
	dir   string
	start func(context.Context) error
	kill  func()
	old   string // copy of dir; "" before the first
	keep  string // where the copy goes
}

// crash kills the server, and keeps a copy of its files if there is none.
func (s *server) crash() error {
	s.kill()
	if s.old != "" {
		return nil
	}
	s.old = s.keep
	return copyTree(s.dir, s.old)
}

// setBack gives the server the files of the earlier crash, and keeps a copy of those that it had.
func (s *server) setBack() error {
	s.kill()
	next := s.keep + ".next"
	if err := copyTree(s.dir, next); err != nil {
		return err
	}
	if s.old != "" {
		if err := s.empty(); err != nil {
			return err
		}
		if err := copyTree(s.old, s.dir); err != nil {
			return err
		}
		if err := os.RemoveAll(s.old); err != nil {
			return err
		}
	}
	s.old = s.keep
	return os.Rename(next, s.old)
}

// empty deletes the files of a server that is down.
func (s *server) empty() error {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if err := os.RemoveAll(filepath.Join(s.dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// restart starts the server again. What its killed processes have left may be in the way for a moment.
func (s *server) restart(ctx context.Context) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := s.start(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("%s does not start again: %w", s.name, err)
		}
	}
}

// copyTree makes to a copy of the directory from, owners and rights included.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", from, err, out)
	}
	return nil
}
