package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/statebridge/statebridge/fault"
)

// Local is the store of local files, which it never writes. Links are followed.
func Local() Store { return local{} }

type local struct{}

func (local) Open(ctx context.Context, uri string) (File, error) {
	path, err := localPath(ctx, uri)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(path); err != nil {
		return nil, notExist(err)
	} else if !fi.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, notExist(err)
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &localFile{f: f, size: fi.Size()}, nil
}

func (local) Stat(ctx context.Context, uri string) (Info, error) {
	path, err := localPath(ctx, uri)
	if err != nil {
		return Info{}, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return Info{}, notExist(err)
	}
	_, name := Split(uri)
	return info(uri, name, fi), nil
}

func (local) List(ctx context.Context, uri string) ([]Info, error) {
	path, err := localPath(ctx, uri)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, notExist(err)
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		fi, err := os.Stat(filepath.Join(path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since ReadDir, or a link to nothing
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info(Join(uri, e.Name()), e.Name(), fi))
	}
	return infos, nil
}

// notExist lets a path through a file that is no directory count as one that does not exist.
func notExist(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return err
}

func localPath(ctx context.Context, uri string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return LocalPath(uri)
}

func info(uri, name string, fi fs.FileInfo) Info {
	return Info{URI: uri, Name: name, Size: fi.Size(), ModTime: fi.ModTime(), IsDir: fi.IsDir()}
}

type localFile struct {
	f    *os.File
	size int64 // when it was opened
}

func (l *localFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if off < 0 {
		return fault.Corrupt(l.Name(), off, "negative offset")
	}
	n, err := l.f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return truncated(l.Name(), off, len(p), int64(n))
	}
	return err
}

func (l *localFile) Size() int64  { return l.size }
func (l *localFile) Name() string { return l.f.Name() }
func (l *localFile) Close() error { return l.f.Close() }

// truncated says that of want bytes at off only got are there.
func truncated(name string, off int64, want int, got int64) error {
	return &fault.CorruptError{File: name, Offset: off, Truncated: true,
		Reason: fmt.Sprintf("%d bytes wanted, %d there", want, max(got, 0))}
}
