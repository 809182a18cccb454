package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
)

// copyRows is how many rows are copied in one script call, which holds up other clients for about a millisecond.
const copyRows = 250

// swap writes an epoch to the side that readers are not sent to, and sends them there with the commit.
//
//	visible a: │ N       N       N        ░ grace ░  N → N+2 …
//	hidden  b: │ N-1 → N → N+1  │ N+1     N+1         N+1
//	           │ catch up, write │ the position names b from here on
//
// Outside the keys that are noted in a set the two sides are equal. A key is noted in the transaction that writes its row, so that holds
// whatever breaks off, and after the commit as well: the sides differ in the same keys, whichever is visible. To catch up is to copy the noted
// keys from the visible side, on the server; after a full epoch, all keys.
type swap struct {
	x       *transaction
	visible string // beginning of the keys that readers are sent to; "" when there are none
	behind  string // how many keys are noted, or everything
	mending bool   // rows of the visible side are put right where they are
	opened  bool
	before  uint64 // revision
}

// look finds out where readers are. The right to write is ours, so that stays.
func (s *swap) look(ctx context.Context) error {
	members, err := s.x.client.HMGet(ctx, positionKey(s.x.table), "prefix", "behind").Result()
	if err != nil {
		return err
	}
	s.visible, _ = members[0].(string)
	s.behind, _ = members[1].(string)
	if !s.x.sink.keptAsNow(s.x.table, s.visible) {
		s.visible, s.behind = "", everything
		if !s.x.to.Full {
			return sinks.ErrFenced
		}
		return nil
	}
	noted, err := s.x.client.SCard(ctx, behindKey(s.x.table)).Result()
	if n, e := strconv.ParseInt(s.behind, 10, 64); e != nil || noted < n { // a set that was evicted, or that somebody deleted
		s.behind = everything
	}
	return err
}

// open prepares the side that is written, before the first row is.
func (s *swap) open(ctx context.Context, client *redis.Client) error {
	if s.opened {
		return nil
	}
	s.opened = true
	prefix := s.visible
	if !s.mending {
		prefix = side(s.x.sink.base(s.x.table), s.visible)
		if err := s.settle(ctx, client, prefix); err != nil {
			return err
		}
	}
	keys := *s.x.keys
	keys.template = keys.at(prefix)
	s.x.keys = &keys
	return s.x.watch(ctx, client)
}

// settle waits for the readers of the hidden side to leave, and then makes it what the epoch builds on: equal to the visible one, or empty.
func (s *swap) settle(ctx context.Context, client *redis.Client, hidden string) error {
	if s.visible != "" {
		if err := s.x.sink.turns.await(ctx, positionKey(s.x.table), s.before, s.x.sink.options.Grace); err != nil {
			return err
		}
	}
	switch {
	case s.x.to.Full:
		s.behind = everything
		if err := s.note(ctx, everything); err != nil {
			return err
		}
		return s.clear(ctx, client, hidden)
	case s.behind == everything:
		if err := s.clear(ctx, client, hidden); err != nil {
			return err
		}
		if err := s.copyAll(ctx, client, hidden); err != nil {
			return err
		}
	default:
		if err := s.catchUp(ctx, hidden); err != nil {
			return err
		}
	}
	s.behind = "0"
	return s.note(ctx, s.behind)
}

func (s *swap) note(ctx context.Context, behind string) error {
	return behindScript.Run(ctx, s.x.client, []string{positionKey(s.x.table), behindKey(s.x.table)}, s.x.token, behind).Err()
}

// clear deletes all keys of the consumer but those that readers are sent to. Before there are any of these, what was there in another way stays until the
// next epoch.
func (s *swap) clear(ctx context.Context, client *redis.Client, hidden string) error {
	beginning := hidden
	if s.visible != "" {
		beginning = s.x.sink.base(s.x.table)
	}
	return scan(ctx, client, beginning, func(keys []string) error {
		b := newBatch()
		for _, k := range keys {
			if s.visible == "" || !strings.HasPrefix(k, s.visible) {
				b.add(k, len(k), true, "d")
			}
		}
		if b.empty() {
			return nil
		}
		_, err := b.send(ctx, client, s.x.head, s.x.guard, "")
		return err
	})
}

// copyAll copies the whole visible side.
func (s *swap) copyAll(ctx context.Context, client *redis.Client, hidden string) error {
	return scan(ctx, client, s.visible, func(keys []string) error {
		for i := range keys {
			keys[i] = strings.TrimPrefix(keys[i], s.visible)
		}
		return s.copy(ctx, keys, hidden)
	})
}

// catchUp copies the keys that are noted.
func (s *swap) catchUp(ctx context.Context, hidden string) error {
	for cursor := uint64(0); ; {
		keys, next, err := s.x.client.SScan(ctx, behindKey(s.x.table), cursor, "", scanCount).Result()
		if err != nil {
			return err
		}
		if err := s.copy(ctx, keys, hidden); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// copy makes keys, given without their beginning, on the hidden side what they are on the visible one.
func (s *swap) copy(ctx context.Context, rests []string, hidden string) error {
	pipe := s.x.client.Pipeline()
	for chunk := range slices.Chunk(rests, copyRows) {
		keys := append(make([]string, 0, 1+2*len(chunk)), positionKey(s.x.table))
		for _, rest := range chunk {
			keys = append(keys, s.visible+rest, hidden+rest)
		}
		copyScript.EvalSha(ctx, pipe, keys, s.x.token)
	}
	if len(rests) == 0 {
		return nil
	}
	_, err := pipe.Exec(ctx)
	return err
}

// finish gives the members of the position that name the side that readers are sent to from now on. Without rows it is the same.
func (s *swap) finish(ctx context.Context) (members []any, err error) {
	visible := s.visible
	if s.opened {
		visible = s.x.keys.texts[0]
		if s.behind != everything {
			n, err := s.x.client.SCard(ctx, behindKey(s.x.table)).Result()
			if err != nil {
				return nil, err
			}
			s.behind = strconv.FormatInt(n, 10)
		}
	}
	return []any{"prefix", visible, "behind", s.behind}, nil
}

// committed tells when readers were sent elsewhere.
func (s *swap) committed() {
	s.x.sink.turns.note(positionKey(s.x.table), s.before, s.opened && !s.mending)
}
