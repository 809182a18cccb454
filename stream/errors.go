package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrResync says that no published epoch can be applied on top of a position: the caller asks for a full epoch and waits.
	ErrResync = errors.New("no published epoch continues from here, a full epoch is needed")
	// ErrGap marks an epoch of which something is missing in the stream. See GapError.
	ErrGap = errors.New("gap in the stream")
	// ErrFenced says that another publisher of the same consumer has taken over, so that this one can't write any more.
	ErrFenced = errors.New("another publisher has taken over")
	// ErrLossy marks a stream or bucket that exists with settings which may drop what has not been read.
	ErrLossy = errors.New("may drop unread messages")
	// ErrInUse says that the data directory belongs to another process.
	ErrInUse = errors.New("data directory is in use")
	// ErrClosed says that the writer has been committed or aborted.
	ErrClosed = errors.New("writer is closed")
)

// What a server answers that has no room: the account's, the server's, the reserved, and what a stream itself says of its limits.
var fullCodes = []jetstream.ErrorCode{10002, 10023, 10047, 10077}

// IsFull says whether the server refused a write because the stream, the account or the server itself has reached its limit. It takes others as soon as there is room.
func IsFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(fullCodes, api.ErrorCode)
}

// A GapError names what an epoch lacks. It prints "consumer accounts, epoch 7, partition 2: 40 changes wanted, 31 found: gap in the stream".
type GapError struct {
	Consumer  string
	Number    uint64
	Partition int // -1 where it concerns the whole epoch
	Reason    string
}

func (e *GapError) Error() string {
	if e.Partition < 0 {
		return fmt.Sprintf("consumer %s, epoch %d: %s: %v", e.Consumer, e.Number, e.Reason, ErrGap)
	}
	return fmt.Sprintf("consumer %s, epoch %d, partition %d: %s: %v", e.Consumer, e.Number, e.Partition, e.Reason, ErrGap)
}

// Unwrap gives ErrGap.
func (e *GapError) Unwrap() error { return ErrGap }
