package sinks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// Letters keeps the rows that a target can't hold, the newest of each.
type Letters interface {
	Put(ctx context.Context, l registry.Letter) error
	// IDs names those of a consumer in a sink.
	IDs(ctx context.Context, sink, consumer string) ([]string, error)
	Drop(ctx context.Context, l registry.Letter) error
}

// maxLetters bounds the letters of one consumer in one sink. Where more rows are refused, it is the table that is wrong.
const maxLetters = 10_000

// ErrManyLetters says that an epoch is refused because too many of its rows are.
var ErrManyLetters = fmt.Errorf("more than %d rows can't be held by the target; put the table right, or drop letters by `statebridge dlq drop`", maxLetters)

// dead are the dead letters of the epochs of one table.
type dead struct {
	letters  Letters
	target   *target
	to       stream.Epoch
	before   map[string]bool // letters that were there
	obsolete map[string]bool // of all, those whose row has changed since and was not refused
	put      map[string]bool
}

// newDead looks up the letters that are there; nil without Letters.
func (t *target) newDead(ctx context.Context) (*dead, error) {
	letters := t.worker.options.Letters
	if letters == nil {
		return nil, nil
	}
	ids, err := letters.IDs(ctx, t.worker.name, t.table.Consumer)
	d := &dead{letters: letters, target: t, before: map[string]bool{}, obsolete: map[string]bool{}, put: map[string]bool{}}
	for _, id := range ids {
		d.before[id] = true
	}
	return d, err
}

// begin goes on with an epoch. A full one has all rows once more.
func (d *dead) begin(to stream.Epoch) {
	if d == nil {
		return
	}
	if d.to = to; !to.Full {
		return
	}
	for _, ids := range []map[string]bool{d.before, d.put} {
		for id := range ids {
			d.obsolete[id] = true
		}
	}
	clear(d.put)
}

func (d *dead) id(key []byte) string {
	return registry.LetterID(d.target.worker.name, d.to.Consumer, key)
}

// see notes the changes of rows that have letters, before they are applied.
func (d *dead) see(changes []stream.Change) {
	if d == nil || len(d.before)+len(d.put) == 0 || d.to.Full {
		return
	}
	for _, c := range changes {
		if id := d.id(c.Key); d.before[id] || d.put[id] {
			d.obsolete[id] = true
			delete(d.put, id)
		}
	}
}

// refused keeps a row, so that the epoch may go on. A row that can't be there need not be deleted.
func (d *dead) refused(ctx context.Context, c stream.Change, why *RowError) error {
	if c.Op == 'd' {
		return nil
	}
	id := d.id(c.Key)
	if d.put[id] = true; d.alive() > maxLetters {
		return Permanent(fmt.Errorf("%w; the last of them: %w", ErrManyLetters, why))
	}
	d.obsolete[id] = false
	err := d.letters.Put(ctx, registry.Letter{
		Sink: d.target.worker.name, Consumer: d.to.Consumer, Reason: why.Reason, Column: why.Column, Epoch: why.Epoch, CheckpointID: why.Checkpoint,
		Partition: why.Partition, Seq: why.Seq, Op: string(c.Op), Key: c.Key, Row: c.After, Time: time.Now().UTC(),
	})
	if errors.Is(err, registry.ErrLongLetter) {
		return Permanent(fmt.Errorf("%w; %w", why, err))
	}
	return err
}

// alive is how many rows the target lacks.
func (d *dead) alive() int {
	n := len(d.put)
	for id := range d.before {
		if !d.obsolete[id] && !d.put[id] {
			n++
		}
	}
	return n
}

// less takes the rows that are missing from those that the target is said to hold.
func (d *dead) less(rows *uint64) {
	if d != nil && rows != nil {
		*rows -= min(*rows, uint64(d.alive()))
	}
}

// forget drops the letters that the epoch has made obsolete. What is left by mistake goes with the next full epoch.
func (d *dead) forget(ctx context.Context) {
	if d == nil {
		return
	}
	for id, gone := range d.obsolete {
		if !gone || d.put[id] {
			continue
		}
		if err := d.letters.Drop(ctx, registry.Letter{ID: id, Sink: d.target.worker.name, Consumer: d.to.Consumer}); err != nil {
			d.target.log.WarnContext(ctx, "a dead letter that is obsolete stays", "letter", id, "error", err)
			return
		}
	}
}

// any says whether the target lacks a row, as far as known.
func (d *dead) any() bool { return d != nil && len(d.before) > 0 }

// count is how many rows were refused.
func (d *dead) count() int {
	if d == nil {
		return 0
	}
	return len(d.put)
}

// Each applies changes one by one. An epoch goes on without a row that was refused if the table's owner keeps it; what the target held of the row before is
// out of date and deleted.
func (t Table) Each(ctx context.Context, changes []stream.Change, apply func(stream.Change) error) error {
	for _, c := range changes {
		err := apply(c)
		if err == nil {
			continue
		}
		if err = t.spare(ctx, c, err); err == nil && c.Op == 'u' {
			c.Op, c.After = 'd', nil
			err = t.spare(ctx, c, apply(c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t Table) spare(ctx context.Context, c stream.Change, err error) error {
	var why *RowError
	if t.Refused == nil || !errors.As(err, &why) {
		return err
	}
	return t.Refused(ctx, c, why)
}
