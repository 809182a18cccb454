package differ

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
)

// Step is what was done to compare one stretch.
type Step struct {
	checkpoint.Stretch
	Read, Requests             int64 // bytes read of databases, in so many requests; those of diffs beside this one count too
	Wanted, Ranges             int64 // blocks that look-ups needed, and the requests that brought them
	Candidates, Sought, Walked int64 // of ByFile: keys in question, of these looked up in common files, and found below range tombstones
}

// String is a line for a person.
func (s Step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "key groups %s: %s, %s", s.Groups, s.Method, s.Why)
	if s.ByMerge.Bytes > 0 {
		fmt.Fprintf(&b, "; in both %s, only base %s, only next %s; estimated: lsm %s, merge %s", s.Common, s.OnlyBase, s.OnlyNext, s.estimate(s.ByFile), s.estimate(s.ByMerge))
	}
	if s.Latency > 0 {
		fmt.Fprintf(&b, "; a request waits %v, %d at a time", s.Latency.Round(time.Millisecond/10), s.AtOnce)
	}
	if s.Requests > 0 {
		fmt.Fprintf(&b, "; read %d bytes in %d requests", s.Read, s.Requests)
	}
	if s.Method == checkpoint.ByFile {
		fmt.Fprintf(&b, "; %d keys in question, %d sought in common files, %d below range tombstones", s.Candidates, s.Sought, s.Walked)
		fmt.Fprintf(&b, "; %d blocks of look-ups came in %d ranges; about %d bytes of common files skipped, as no key in question lies there", s.Wanted, s.Ranges, s.skipped())
	}
	return b.String()
}

// estimate leaves out what says nothing where files are near.
func (s Step) estimate(e checkpoint.Estimate) string {
	if s.Latency == 0 {
		return fmt.Sprintf("%d bytes", e.Bytes)
	}
	return fmt.Sprintf("%d bytes in %d requests (%v)", e.Bytes, e.Requests, e.Time.Round(time.Millisecond))
}

// skipped is how much of the files has not been read.
func (s Step) skipped() int64 {
	return max(s.Common.Bytes+s.OnlyBase.Bytes+s.OnlyNext.Bytes-s.Read, 0)
}

func (d *diff) explain(s Step) {
	if d.options.Explain != nil {
		d.options.Explain(s)
	}
}

// How many stretches are begun before the one that is walked has ended: those of far files wait for most of their time.
const (
	nearAhead = 1
	farAhead  = 3
)

// begun is a stretch, and its walk once that has begun.
type begun struct {
	Step
	rows   *checkpoint.Differences
	before checkpoint.ReadStats
}

// steps compares two tables of snapshots stretch by stretch, each in the way that was planned. What the next ones need is read meanwhile.
func (d *diff) steps(ctx context.Context, base, next *checkpoint.Table, groups checkpoint.KeyGroups) (err error) {
	var list []*begun
	for _, s := range next.Compare(base, groups, d.options.Method) {
		list = append(list, &begun{Step: Step{Stretch: s}})
	}
	defer func() {
		for _, s := range list {
			err = errors.Join(err, s.close())
		}
	}()
	for i, s := range list {
		ahead := nearAhead
		if s.Latency > 0 {
			ahead = farAhead
		}
		for _, soon := range list[i:min(i+1+ahead, len(list))] {
			soon.begin(ctx)
		}
		if err := d.step(ctx, s, base, next); err != nil || d.stopped {
			return err
		}
	}
	return nil
}

func (s *begun) begin(ctx context.Context) {
	if s.rows == nil && s.Method == checkpoint.ByFile {
		s.before = s.Reading()
		s.rows = s.Differences(ctx)
	}
}

func (s *begun) close() (err error) {
	if s.rows != nil {
		err = s.rows.Close()
	}
	s.rows = nil
	return err
}

func (d *diff) step(ctx context.Context, s *begun, base, next *checkpoint.Table) (err error) {
	if s.Method == checkpoint.ByFile {
		err = d.byFile(s)
	} else {
		s.before = s.Reading()
		err = d.rows(ctx, base, next, s.Groups)
	}
	if err != nil {
		return err
	}
	read := s.Reading().Minus(s.before)
	s.Read, s.Requests, s.Wanted, s.Ranges = read.ReadBytes, read.Reads, read.Wanted, read.Ranges
	d.explain(s.Step)
	return nil
}

// byFile walks the rows whose bytes differ. All others are equal, since equal bytes mean equal values there.
func (d *diff) byFile(s *begun) error {
	for !d.stopped && s.rows.Next() {
		if err := d.row(s.rows.Before(), s.rows.After()); err != nil {
			return err
		}
	}
	stats := s.rows.Stats()
	s.Candidates, s.Sought, s.Walked = stats.Candidates, stats.Sought, stats.Walked
	return errors.Join(side(s.rows.Err(), s.rows.BaseFailed()), s.close())
}

// row emits the change of one key, which at least one side has.
func (d *diff) row(before, after checkpoint.Entry) error {
	switch {
	case after == nil:
		return d.emit(Delete, before, nil)
	case before == nil:
		return d.emit(Create, nil, after)
	}
	return d.changed(before, after)
}

// side says which side an error is of.
func side(err error, ofBase bool) error {
	if err != nil && ofBase {
		return &BaseError{err}
	}
	return err
}
