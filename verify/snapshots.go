package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/stream"
)

// Snapshots opens what targets stand at: in the job's directory, or, where the job has deleted it, through the pins of a process that publishes.
type Snapshots struct {
	Store   storage.Store
	Options checkpoint.Options
	TempDir string // for pins of our own
	Pins    string // directory of the publisher's pins; "": there is none
	Only    string // the snapshot that a target must stand at; "": any
}

// OtherError says that a target stands at another snapshot than the one it was to be compared with.
type OtherError struct {
	Target   stream.SnapshotRef
	Snapshot string
	ID       int64
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("the target stands at checkpoint %d (%s), which is not checkpoint %d (%s); without a SNAPSHOT it is compared with its own", e.Target.CheckpointID, e.Target.Location, e.ID, e.Snapshot)
}

// opened is a snapshot that stays readable until it is closed.
type opened struct {
	*checkpoint.Snapshot
	pin *checkpoint.Pin // our own; nil: none
	dir string
}

func (o *opened) close() error {
	errs := []error{o.Snapshot.Close()}
	if o.pin != nil {
		errs = append(errs, o.pin.Release(), os.RemoveAll(o.dir))
	}
	return errors.Join(errs...)
}

// open gives the snapshot that ref names. An error that wraps fs.ErrNotExist says that it is gone.
func (s *Snapshots) open(ctx context.Context, consumer, operator string, ref stream.SnapshotRef, o checkpoint.Options) (*opened, error) {
	o.Store = s.Store
	location := ref.Location
	if s.Only != "" {
		if err := s.check(ctx, ref, o); err != nil {
			return nil, err
		}
		location = s.Only
	}
	snap, err := s.pinned(ctx, location, operator, ref, o)
	if err == nil || s.Only != "" || s.Pins == "" || !errors.Is(err, fs.ErrNotExist) {
		return snap, err
	}
	held, heldErr := checkpoint.ReadPins(s.Pins, s.Store).Held(consumer)
	for _, pin := range held {
		if pin.Location == ref.Location && pin.ID == ref.CheckpointID && pin.Job == ref.Job {
			theirs, err := pin.Open(ctx, o)
			return &opened{Snapshot: theirs}, err
		}
	}
	return nil, errors.Join(err, heldErr)
}

// pinned takes hold of the files first, so that the job may delete them.
func (s *Snapshots) pinned(ctx context.Context, location, operator string, ref stream.SnapshotRef, o checkpoint.Options) (_ *opened, err error) {
	dir, err := os.MkdirTemp(s.TempDir, "verify-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	pins, err := checkpoint.OpenPins(dir, s.Store)
	if err != nil {
		return nil, err
	}
	pin, err := pins.Take(ctx, "verify", checkpoint.Found{Location: location, Job: ref.Job, ID: ref.CheckpointID}, []string{operator}, o)
	if err != nil {
		return nil, err
	}
	snap, err := pin.Open(ctx, o)
	return &opened{snap, pin, dir}, err
}

// Given says what is wrong with the snapshot that targets must stand at, so that it is told once and not of each of them.
func (s *Snapshots) Given(ctx context.Context) error {
	if s.Only == "" {
		return nil
	}
	o := s.Options
	o.Store = s.Store
	snap, err := checkpoint.Open(ctx, s.Only, o)
	if err != nil {
		return err
	}
	return snap.Close()
}

// check makes sure that the target stands at the snapshot that was asked for.
func (s *Snapshots) check(ctx context.Context, ref stream.SnapshotRef, o checkpoint.Options) error {
	snap, err := checkpoint.Open(ctx, s.Only, o)
	if err != nil {
		return err
	}
	defer snap.Close()
	job := filepath.Base(filepath.Dir(snap.Location))
	if snap.ID() != ref.CheckpointID || len(job) == 32 && ref.Job != "" && job != ref.Job {
		return &OtherError{ref, s.Only, snap.ID()}
	}
	return nil
}
