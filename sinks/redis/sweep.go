package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

const scanCount = 1000

var errFound = errors.New("found")

// anyKey tells whether any key is there that begins like the template.
func (x *transaction) anyKey(ctx context.Context) (bool, error) {
	err := masters(ctx, x.client, func(ctx context.Context, c *redis.Client) error {
		return scan(ctx, c, x.keys.texts[0], func(keys []string) error { return errFound })
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// scan gives the keys of one server that have a beginning, in batches, some perhaps twice. A key that is there all the time is given for sure.
func scan(ctx context.Context, c *redis.Client, beginning string, f func(keys []string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, pattern(beginning), scanCount).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// sweep deletes the keys that begin like the template and that the full epoch has not written.
func (x *transaction) sweep(ctx context.Context) error {
	seen, err := x.client.SCard(ctx, x.seen).Result()
	if err != nil {
		return err
	}
	if seen != x.rows {
		return x.twice()
	}
	err = masters(ctx, x.client, func(ctx context.Context, c *redis.Client) error {
		return scan(ctx, c, x.keys.texts[0], func(keys []string) error {
			left, err := x.leftOver(ctx, keys)
			if err != nil || left.empty() {
				return err
			}
			_, err = left.send(ctx, x.client, x.head, x.guard, "")
			return err
		})
	})
	if err != nil {
		return err
	}
	return x.client.Unlink(ctx, x.seen).Err()
}

func (x *transaction) leftOver(ctx context.Context, keys []string) (*batch, error) {
	members := make([]any, len(keys))
	for i, k := range keys {
		members[i] = k
	}
	b := newBatch()
	there, err := x.client.SMIsMember(ctx, x.seen, members...).Result()
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		if !there[i] && !b.has[k] {
			b.add(k, len(k), x.single, "d")
		}
	}
	return b, nil
}
