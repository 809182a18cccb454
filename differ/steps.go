package differ

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/statebridge/statebridge/checkpoint"
)

// Step is what was done to compare one stretch.
type Step struct {
	checkpoint.Stretch
	Read, Requests             int64 // bytes read of databases, in so many requests; those of diffs beside this one count too
	Candidates, Sought, Walked int64 // of ByFile: keys in question, of these looked up in common files, and found below range tombstones
}

// String is a line for a person.
func (s Step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "key groups %s: %s, %s", s.Groups, s.Method, s.Why)
	if s.MergeBytes > 0 {
		fmt.Fprintf(&b, "; in both %s, only base %s, only next %s; estimated: lsm %d bytes, merge %d bytes",
			s.Common, s.OnlyBase, s.OnlyNext, s.ByFileBytes, s.MergeBytes)
	}
	if s.Requests > 0 {
		fmt.Fprintf(&b, "; read %d bytes in %d requests", s.Read, s.Requests)
	}
	if s.Method == checkpoint.ByFile {
		fmt.Fprintf(&b, "; %d keys in question, %d sought in common files, %d below range tombstones", s.Candidates, s.Sought, s.Walked)
	}
	return b.String()
}

func (d *diff) explain(s Step) {
	if d.options.Explain != nil {
		d.options.Explain(s)
	}
}

// steps compares two tables of snapshots stretch by stretch, each in the way that was planned.
func (d *diff) steps(ctx context.Context, base, next *checkpoint.Table, groups checkpoint.KeyGroups) error {
	for _, s := range next.Compare(base, groups, d.options.Method) {
		if d.stopped {
			return nil
		}
		step := Step{Stretch: s}
		before := s.Reading()
		var err error
		if s.Method == checkpoint.ByFile {
			err = d.byFile(ctx, &step)
		} else {
			err = d.rows(ctx, base, next, s.Groups)
		}
		if err != nil {
			return err
		}
		read := s.Reading().Minus(before)
		step.Read, step.Requests = read.ReadBytes, read.Reads
		d.explain(step)
	}
	return nil
}

// byFile walks the rows whose bytes differ. All others are equal, since equal bytes mean equal values there.
func (d *diff) byFile(ctx context.Context, s *Step) (err error) {
	rows := s.Differences(ctx)
	defer func() { err = errors.Join(err, rows.Close()) }()
	for !d.stopped && rows.Next() {
		if err := d.row(rows.Before(), rows.After()); err != nil {
			return err
		}
	}
	stats := rows.Stats()
	s.Candidates, s.Sought, s.Walked = stats.Candidates, stats.Sought, stats.Walked
	return side(rows.Err(), rows.BaseFailed())
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
