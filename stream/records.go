package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The records of the epochs, one key each, written once. A key that is trimmed goes without a trace.

func epochKey(consumer string, number uint64) string {
	return Token(consumer) + "." + strconv.FormatUint(number, 10)
}

func (s *Source) keySubject(key string) string { return "$KV." + s.epochs.Bucket() + "." + key }

// record reads one record; ok is false when there is none.
func (s *Source) record(ctx context.Context, consumer string, number uint64) (e Epoch, ok bool, err error) {
	kv, err := s.epochs.Get(ctx, epochKey(consumer, number))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Epoch{}, false, nil
	}
	if err != nil {
		return Epoch{}, false, fmt.Errorf("record of epoch %s/%d: %w", consumer, number, err)
	}
	e, err = decodeEpoch(kv.Value())
	if err == nil && (e.Consumer != consumer || e.Number != number) {
		err = fmt.Errorf("record of epoch %s/%d is about %s", consumer, number, e)
	}
	return e, err == nil, err
}

// createRecord is the commit point. won is false when the number belongs to another attempt; then the record is that one's.
func (s *Source) createRecord(ctx context.Context, e Epoch) (won bool, err error) {
	b, err := json.Marshal(e)
	if err != nil {
		return false, err
	}
	_, err = s.epochs.Update(ctx, epochKey(e.Consumer, e.Number), b, 0)
	if err == nil {
		return true, nil
	}
	if !conflict(err) && !errors.Is(err, jetstream.ErrKeyExists) {
		return false, fmt.Errorf("record of epoch %s: %w", e, err)
	}
	have, ok, err := s.record(ctx, e.Consumer, e.Number)
	return ok && have.Attempt == e.Attempt, err // our own, written by who rolled it forward
}

// numbers lists the epochs of a consumer that have a record, ascending. It asks the leader, so that nothing is missed in a cluster.
func (s *Source) numbers(ctx context.Context, consumer string) ([]uint64, error) {
	prefix := s.keySubject(Token(consumer) + ".")
	info, err := s.index.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("records of consumer %s: %w", consumer, err)
	}
	var all []uint64
	for subject := range info.State.Subjects {
		if n, err := strconv.ParseUint(strings.TrimPrefix(subject, prefix), 10, 64); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Head gives the newest epoch of a consumer, if there is any.
func (s *Source) Head(ctx context.Context, consumer string) (Epoch, bool, error) {
	for try := 0; ; try++ {
		all, err := s.numbers(ctx, consumer)
		if err != nil || len(all) == 0 {
			return Epoch{}, false, err
		}
		newest := all[len(all)-1]
		e, ok, err := s.record(ctx, consumer, newest)
		if ok || err != nil {
			return e, ok, err
		}
		if try == 10 { // "none" would start a new history
			return Epoch{}, false, fmt.Errorf("record of epoch %s/%d is listed and can't be read", consumer, newest)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil { // trimmed meanwhile, or a replica that lags
			return Epoch{}, false, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Epochs lists the published epochs of a consumer that have not been trimmed, oldest first.
func (s *Source) Epochs(ctx context.Context, consumer string) ([]Epoch, error) {
	all, err := s.numbers(ctx, consumer)
	if err != nil {
		return nil, err
	}
	var epochs []Epoch
	for _, n := range all {
		e, ok, err := s.record(ctx, consumer, n)
		if err != nil {
			return nil, err
		}
		if ok {
			epochs = append(epochs, e)
		}
	}
	return epochs, nil
}
