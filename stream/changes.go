package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Changes reads the changes of an epoch in batches, each of one partition, in order within each partition. An epoch that is not whole ends in a GapError, after which
// Next passes it over. A batch and its bytes are valid until the next one.
func (s *Source) Changes(ctx context.Context, e Epoch) iter.Seq2[[]Change, error] {
	return func(yield func([]Change, error) bool) {
		stopped, err := s.changes(ctx, e, func(batch []Change) bool { return yield(batch, nil) })
		if errors.Is(err, ErrGap) {
			s.markBroken(e)
		}
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

func (s *Source) changes(ctx context.Context, e Epoch, yield func([]Change) bool) (stopped bool, err error) {
	a := newAssembly(e)
	if a.whole() {
		return false, a.finish()
	}
	r, err := s.read(ctx, s.filter(e.Consumer), e.FirstSeq)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, a.gap(-1, "the stream is gone")
	}
	if err != nil {
		return false, err
	}
	defer r.stop()
	for r.left() && r.seq < e.LastSeq && !a.whole() {
		m, err := r.next(ctx, e.LastSeq)
		if err != nil {
			return false, fmt.Errorf("epoch %s: %w", e, err)
		}
		if m == nil {
			break
		}
		batch, err := s.batch(ctx, a, m)
		if err != nil {
			return false, err
		}
		if len(batch) > 0 && !yield(batch) {
			return true, nil
		}
	}
	return false, a.finish()
}

// batch takes the changes out of a message; none if it is not one of the epoch's.
func (s *Source) batch(ctx context.Context, a *assembly, m jetstream.Msg) ([]Change, error) {
	if m.Headers().Get(headerAttempt) != a.epoch.Attempt || m.Headers().Get(headerKind) != kindChanges {
		return nil, nil
	}
	subject := m.Subject()
	partition, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil || partition < 0 || partition >= a.epoch.Partitions {
		return nil, a.gap(-1, "a message on subject "+subject)
	}
	a.batch = a.batch[:0]
	for rest := m.Data(); len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		rest = after
		p, err := a.parse(line, partition)
		if err != nil {
			return nil, a.gap(partition, err.Error())
		}
		if p.object != nil {
			if p, err = s.resolve(ctx, a, partition, p); err != nil {
				return nil, err
			}
		}
		p.Partition = partition
		if err := a.add(p.Change); err != nil {
			return nil, err
		}
	}
	return a.batch, nil
}

// resolve fetches a change from the object store.
func (s *Source) resolve(ctx context.Context, a *assembly, partition int, p parsed) (parsed, error) {
	ref, err := parseObjectRef(p.object)
	if err != nil {
		return p, a.gap(partition, err.Error())
	}
	b, err := s.large.GetBytes(ctx, ref.Name)
	if errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrDigestMismatch) {
		return p, a.gap(partition, fmt.Sprintf("object %s: %v", ref.Name, err))
	}
	if err != nil {
		return p, fmt.Errorf("epoch %s, object %s: %w", a.epoch, ref.Name, err)
	}
	whole, err := parseLine(bytes.TrimSuffix(b, []byte{'\n'}))
	if err != nil || whole.Seq != p.Seq || whole.Op != p.Op || whole.object != nil {
		return p, a.gap(partition, fmt.Sprintf("object %s does not hold change %d", ref.Name, p.Seq))
	}
	return whole, nil
}

// assembly checks that what arrives is the epoch, whole and in order.
type assembly struct {
	epoch Epoch
	seen  []Counts
	next  []uint64 // sequence in each partition
	frame []framed // of the lines in each partition
	left  uint64   // changes to come
	batch []Change
}

func newAssembly(e Epoch) *assembly {
	return &assembly{epoch: e, seen: make([]Counts, e.Partitions), next: make([]uint64, e.Partitions), frame: make([]framed, e.Partitions), left: e.Counts.Total()}
}

func (a *assembly) parse(line []byte, partition int) (parsed, error) {
	f := &a.frame[partition]
	if p, ok := f.parse(line); ok {
		return p, nil
	}
	p, err := parseLine(line)
	if err == nil {
		f.learn(line, p)
	}
	return p, err
}

// add takes a change into the batch. One that was there before is dropped: a message may have been stored twice.
func (a *assembly) add(c Change) error {
	switch have := a.next[c.Partition]; {
	case c.Seq <= have:
		return nil
	case c.Seq > have+1:
		return a.gap(c.Partition, fmt.Sprintf("change %d follows change %d", c.Seq, have))
	}
	if !a.seen[c.Partition].add(c.Op) || c.Key == nil {
		return a.gap(c.Partition, fmt.Sprintf("change %d has operation %q and a key of %d bytes", c.Seq, c.Op, len(c.Key)))
	}
	if a.left == 0 {
		return a.gap(c.Partition, "more changes than counted")
	}
	a.next[c.Partition] = c.Seq
	a.left--
	a.batch = append(a.batch, c)
	return nil
}

func (a *assembly) whole() bool { return a.left == 0 }

func (a *assembly) finish() error {
	for i, want := range a.epoch.Shares {
		if got := a.seen[i]; got != want {
			return a.gap(i, fmt.Sprintf("%d changes wanted, %d found", want.Total(), got.Total()))
		}
	}
	return nil
}

func (a *assembly) gap(partition int, reason string) error {
	return &GapError{Consumer: a.epoch.Consumer, Number: a.epoch.Number, Partition: partition, Reason: reason}
}
