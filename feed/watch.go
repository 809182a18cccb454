package feed

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Watch looks for the snapshots of a job. Feeds of several consumers share one, so that a directory is listed once a poll.
type Watch struct {
	Store       storage.Store
	Checkpoints string        // directory of all jobs' checkpoints, or of one job's
	Job         string        // id; "" is the job that wrote last
	REST        *REST         // nil: the directory alone is looked at
	Poll        time.Duration // least time between two looks
	Log         *slog.Logger

	mu    sync.Mutex
	last  time.Time
	found []checkpoint.Found
	err   error
	told  bool // that there is none
	said  said
}

// Snapshots lists the checkpoints there are, newest last. A directory that does not exist (yet) has none.
func (w *Watch) Snapshots(ctx context.Context) ([]checkpoint.Found, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() || time.Since(w.last) >= w.Poll/2 {
		w.found, w.err = w.look(ctx)
		w.last = time.Now()
	}
	return slices.Clone(w.found), w.err
}

func (w *Watch) look(ctx context.Context) ([]checkpoint.Found, error) {
	if w.REST == nil {
		return w.list(ctx, w.Job)
	}
	job, err := w.REST.Job(ctx, w.Job)
	if err != nil {
		w.Log.WarnContext(ctx, "JobManager not reached, looking at the directory alone", "error", err)
		return w.list(ctx, w.Job)
	}
	found, err := w.list(ctx, job)
	if err != nil {
		return nil, err
	}
	history, err := w.REST.Checkpoints(ctx, job)
	if err != nil {
		w.Log.WarnContext(ctx, "JobManager not reached, looking at the directory alone", "error", err)
		return found, nil
	}
	return combine(found, history), nil
}

func (w *Watch) list(ctx context.Context, job string) ([]checkpoint.Found, error) {
	found, err := checkpoint.Discover(ctx, w.Store, w.Checkpoints, job)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(found) == 0 && !w.told {
		w.told = true
		log := w.Log.With("checkpoints", w.Checkpoints, "job", job)
		if err != nil { // the directory is not there
			log = log.With("error", err)
		}
		log.WarnContext(ctx, "no complete checkpoint yet")
	}
	return found, nil
}

// combine drops what the JobManager does not call completed and adds what lies elsewhere.
func combine(found []checkpoint.Found, history []Reported) []checkpoint.Found {
	byID := map[int64]checkpoint.Found{}
	for _, f := range found {
		byID[f.ID] = f
	}
	for _, r := range history {
		_, have := byID[r.Found.ID]
		switch {
		case !r.Completed:
			delete(byID, r.Found.ID)
		case !have:
			byID[r.Found.ID] = r.Found
		}
	}
	out := make([]checkpoint.Found, 0, len(byID))
	for _, f := range byID {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b checkpoint.Found) int { return int(a.ID - b.ID) })
	return out
}
