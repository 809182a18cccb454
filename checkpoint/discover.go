package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/statebridge/statebridge/checkpoint/fluss"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// MetadataFile is the name of the file that makes a directory a snapshot.
const MetadataFile = "_metadata"

// Found is a checkpoint directory that has a metadata file. Whether the file is whole shows when it is read.
type Found struct {
	Location string    // address of the directory
	Job      string    // job id in hex, or "" where the directories have no job level
	ID       int64     // checkpoint id, from the directory's name
	Time     time.Time // of the metadata file
}

var (
	checkpointDir = regexp.MustCompile(`^chk-([0-9]{1,18})$`)
	bucketDir     = regexp.MustCompile(`^snap-([0-9]{1,18})$`) // of Fluss
	jobDir        = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// Discover lists the checkpoints below base, newest last. Base is the configured checkpoint directory (with a directory
// per job) or one job's. With job given only that job counts; else the job that wrote last, since checkpoint ids of different
// jobs do not compare. Within a job the number decides, not the time.
func Discover(ctx context.Context, store storage.Store, base, job string) ([]Found, error) {
	entries, err := store.List(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	found, err := checkpointsOf(ctx, store, entries, "")
	if err != nil || len(found) > 0 {
		return found, err
	}
	var newest []Found
	for _, e := range entries {
		if !e.IsDir || !jobDir.MatchString(e.Name) || job != "" && e.Name != job {
			continue
		}
		found, err := jobCheckpoints(ctx, store, e)
		if err != nil {
			return nil, err
		}
		if len(newest) == 0 || len(found) > 0 && later(found[len(found)-1], newest[len(newest)-1]) {
			newest = found
		}
	}
	return newest, nil
}

// later compares the last checkpoints of two jobs.
func later(a, b Found) bool {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c > 0
	}
	return a.ID > b.ID
}

func jobCheckpoints(ctx context.Context, store storage.Store, dir storage.Info) ([]Found, error) {
	entries, err := store.List(ctx, dir.URI)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // deleted since it was listed
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints of job %s: %w", dir.Name, err)
	}
	return checkpointsOf(ctx, store, entries, dir.Name)
}

func checkpointsOf(ctx context.Context, store storage.Store, entries []storage.Info, job string) ([]Found, error) {
	return complete(ctx, store, entries, checkpointDir, MetadataFile, job)
}

// discoverBucket lists the complete KV snapshots of a bucket of Fluss, newest last.
func discoverBucket(ctx context.Context, store storage.Store, bucket string) ([]Found, error) {
	entries, err := store.List(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return complete(ctx, store, entries, bucketDir, fluss.MetadataFile, "")
}

// complete picks the directories that are called like snapshots and have the metadata file, and puts them in order.
func complete(ctx context.Context, store storage.Store, entries []storage.Info, called *regexp.Regexp, metadata, job string) ([]Found, error) {
	var found []Found
	for _, e := range entries {
		m := called.FindStringSubmatch(e.Name)
		if m == nil || !e.IsDir {
			continue
		}
		meta, err := store.Stat(ctx, storage.Join(e.URI, metadata))
		if errors.Is(err, fs.ErrNotExist) {
			continue // in progress, or being deleted
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", e.Name, err)
		}
		id, _ := strconv.ParseInt(m[1], 10, 64)
		found = append(found, Found{Location: e.URI, Job: job, ID: id, Time: meta.ModTime})
	}
	slices.SortFunc(found, func(a, b Found) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}

// split gives the directory of a snapshot's address, which may name the metadata file in it, and what that file may be.
func split(location string) (dir string, files []string) {
	names := []string{MetadataFile, fluss.MetadataFile}
	if dir, name := storage.Split(location); slices.Contains(names, name) {
		return dir, []string{location}
	}
	for _, name := range names {
		files = append(files, storage.Join(location, name))
	}
	return location, files
}
