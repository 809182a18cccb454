package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Trim deletes the epochs up to and including upTo, with their messages and objects, and what attempts between them left. The newest epoch always stays.
// Records go first, so that a reader is never led to messages that are gone.
func (s *Source) Trim(ctx context.Context, consumer string, upTo uint64) error {
	all, err := s.numbers(ctx, consumer)
	if err != nil || len(all) == 0 {
		return err
	}
	upTo = min(upTo, all[len(all)-1]-1)
	if all[0] > upTo {
		return nil
	}
	kept := 0
	for all[kept] <= upTo {
		kept++
	}
	before, err := s.firstSeq(ctx, consumer, all[kept:])
	if err != nil {
		return err
	}
	for _, n := range all[:kept] {
		if err := s.index.Purge(ctx, jetstream.WithPurgeSubject(s.keySubject(epochKey(consumer, n)))); err != nil {
			return fmt.Errorf("trim of epoch %s/%d: %w", consumer, n, err)
		}
	}
	if before > 1 {
		err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.filter(consumer)), jetstream.WithPurgeSequence(before))
		if err != nil {
			return fmt.Errorf("trim of consumer %s: %w", consumer, err)
		}
	}
	return s.trimObjects(ctx, consumer, upTo)
}

// firstSeq is the sequence below which none of the epochs has messages. The newest is asked too: a stream that was deleted and made again counts from 1 again.
func (s *Source) firstSeq(ctx context.Context, consumer string, numbers []uint64) (uint64, error) {
	first := ^uint64(0)
	for _, n := range []uint64{numbers[0], numbers[len(numbers)-1]} {
		e, ok, err := s.record(ctx, consumer, n)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, nil // somebody else is trimming
		}
		first = min(first, e.FirstSeq)
	}
	return first, nil
}

func (s *Source) trimObjects(ctx context.Context, consumer string, upTo uint64) error {
	status, err := s.large.Status(ctx)
	if err != nil {
		return fmt.Errorf("objects of source %s: %w", s.name, err)
	}
	if status.Size() == 0 {
		return nil
	}
	all, err := s.large.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return fmt.Errorf("objects of source %s: %w", s.name, err)
	}
	for _, o := range all {
		if !objectUpTo(o.Name, consumer, upTo) {
			continue
		}
		if err := s.large.Delete(ctx, o.Name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return fmt.Errorf("object %s: %w", o.Name, err)
		}
	}
	return nil
}

func objectUpTo(name, consumer string, upTo uint64) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 5 || parts[0] != Token(consumer) {
		return false
	}
	n, err := strconv.ParseUint(parts[1], 10, 64)
	return err == nil && n <= upTo
}
