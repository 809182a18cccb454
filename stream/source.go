package stream

import (
	"context"
	"iter"
)

// Source is the stream and the buckets of one source.
type Source struct {
}

// Name is the source's name.
func (s *Source) Name() string { panic("not yet") }

// Publisher opens the one writer of a consumer. An epoch whose publisher died between its first commit line and its record is completed first.
func (s *Source) Publisher(ctx context.Context, consumer string) (*Publisher, error) {
	panic("not yet")
}

// Next waits for the epoch that follows position (chain, after): the record of after+1; or, when that is gone, or the chain is another one, or after is 0,
// the newest full one. It gives ErrResync when there is none: ask for a full epoch, wait, and call again.
func (s *Source) Next(ctx context.Context, consumer, chain string, after uint64) (Epoch, error) {
	panic("not yet")
}

// Head gives the newest epoch of a consumer, if there is any.
func (s *Source) Head(ctx context.Context, consumer string) (Epoch, bool, error) {
	panic("not yet")
}

// Changes reads the changes of an epoch in batches, in order within each partition. An epoch that is not whole ends in a GapError, after which Next passes it over.
// A batch and its bytes are valid until the next one.
func (s *Source) Changes(ctx context.Context, e Epoch) iter.Seq2[[]Change, error] {
	panic("not yet")
}

// Trim deletes the epochs up to and including upTo, with their messages and objects. The newest epoch always stays.
func (s *Source) Trim(ctx context.Context, consumer string, upTo uint64) error { panic("not yet") }
