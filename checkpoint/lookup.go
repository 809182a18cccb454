package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/statebridge/statebridge/state"
)

// Key says which rows to look up, by their members as JSON. A nil Namespace or MapKey stands for any.
type Key struct{ Key, Namespace, MapKey []byte }

// ErrKeyType says that a table's keys are of another type than the one that was looked up.
var ErrKeyType = errors.New("key of another type")

// KeyTypeError says what kind of key the table wants.
type KeyTypeError struct{ Err error }

func (e *KeyTypeError) Error() string { return "key: " + e.Err.Error() }

// Unwrap gives ErrKeyType and the cause.
func (e *KeyTypeError) Unwrap() []error { return []error{ErrKeyType, e.Err} }

// Lookup finds the rows of one key: one, or one a namespace and map key. It reads the key's own key group only, and of RocksDB's
// files the few blocks that the key can be in. Where Java's hash of the key is not known from its type, each key group
// is asked; a key of a type that cannot be written here, and the timers of a key, are found by reading through. The Row
// is valid until the next one; an error is the last pair.
func (t *Table) Lookup(ctx context.Context, k Key) iter.Seq2[*state.Row, error] {
	return func(yield func(*state.Row, error) bool) {
		l := &lookup{table: t, want: k, yield: yield}
		if err := l.run(ctx); err != nil && !l.stopped {
			yield(nil, fmt.Errorf("%s, state %q: %w", t.Operator.Title(), t.Name, err))
		}
	}
}

type lookup struct {
	table   *Table
	want    Key
	yield   func(*state.Row, error) bool
	row     state.Row
	stopped bool
}

func (l *lookup) run(ctx context.Context) error {
	for i := range l.table.parts {
		if err := l.part(ctx, &l.table.parts[i]); err != nil || l.stopped {
			return err
		}
	}
	return nil
}

// part looks into one subtask's state, if the key can be there.
func (l *lookup) part(ctx context.Context, p *part) error {
	codec, ok := p.schema.Key.(state.KeyCodec)
	if !ok {
		return l.scan(ctx, p, p.groups, nil, nil)
	}
	key, err := codec.AppendKey(nil, l.want.Key)
	if err != nil {
		return &KeyTypeError{Err: err}
	}
	groups := p.groups
	if hash, ok := codec.HashCode(l.want.Key); ok {
		g := state.KeyGroup(hash, p.schema.MaxParallelism)
		if groups = p.groups.Clip(KeyGroups{g, g}); groups.First > groups.Last {
			return nil
		}
	}
	if p.schema.Kind == state.KindTimer {
		return l.scan(ctx, p, groups, nil, nil)
	}
	if db, ok := p.source.(*database); ok && groups.Len() > 1 {
		if keys := l.wholes(p, groups); keys != nil {
			return l.together(ctx, p, db, keys)
		}
	}
	for g := groups.First; g <= groups.Last && !l.stopped; g++ {
		if err := l.group(ctx, p, g, key); err != nil {
			return err
		}
	}
	return nil
}

// group looks a key up in one key group.
func (l *lookup) group(ctx context.Context, p *part, g int, key []byte) error {
	defer func(want Key) { l.want = want }(l.want)
	if full, ok := l.whole(p, g); ok {
		l.want = Key{} // the bytes decide
		value, found, err := p.source.get(ctx, p, g, full)
		if err != nil || !found {
			return err
		}
		return l.emit(p.schema, full, value)
	}
	l.want.Key = nil
	lower := p.schema.AppendKeyPrefix(nil, g, key)
	return l.scan(ctx, p, KeyGroups{g, g}, lower, successor(lower))
}

// wholes gives the composite keys of several key groups when they are known to the end.
func (l *lookup) wholes(p *part, groups KeyGroups) (keys [][]byte) {
	for g := groups.First; g <= groups.Last; g++ {
		key, ok := l.whole(p, g)
		if !ok {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// together looks ascending composite keys up at once.
func (l *lookup) together(ctx context.Context, p *part, db *database, keys [][]byte) error {
	defer func(want Key) { l.want = want }(l.want)
	l.want = Key{} // the bytes decide
	err := db.db.GetAll(ctx, p.schema.Name, keys, func(i int, value []byte) error {
		if p.blank(value) {
			return nil
		}
		if err := l.emit(p.schema, keys[i], value); err != nil || l.stopped {
			return cmp.Or(err, errStopped)
		}
		return nil
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// errStopped says that nobody wants more.
var errStopped = errors.New("stopped")

// whole gives the composite key when it is known to the end.
func (l *lookup) whole(p *part, g int) ([]byte, bool) {
	if p.schema.MapKey != nil && l.want.MapKey == nil {
		return nil, false
	}
	k, n, m, err := p.schema.EncodeKey(l.want.Key, l.want.Namespace, l.want.MapKey)
	if err != nil || n == nil && !p.schema.Ungrouped {
		return nil, false
	}
	return p.schema.AppendKey(nil, g, k, n, m), true
}

func (l *lookup) scan(ctx context.Context, p *part, groups KeyGroups, lower, upper []byte) (err error) {
	c, err := p.source.cursor(ctx, p, groups, lower, upper)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for !l.stopped && c.Next() {
		if err := l.emit(c.Schema(), c.Key(), c.Value()); err != nil {
			return err
		}
	}
	return c.Err()
}

// emit decodes an entry and hands it on if it is one of those wanted.
func (l *lookup) emit(s *state.Schema, key, value []byte) error {
	if err := s.DecodeKey(&l.row, key); err != nil {
		return err
	}
	if !matches(l.want.Key, l.row.Key) || !matches(l.want.Namespace, l.row.Namespace) || !matches(l.want.MapKey, l.row.MapKey) {
		return nil
	}
	if err := l.table.fits(len(key) + len(value)); err != nil {
		return err
	}
	if err := s.DecodeValue(&l.row, value); err != nil {
		return err
	}
	l.stopped = !l.yield(&l.row, nil)
	return nil
}

func matches(want, got []byte) bool { return want == nil || bytes.Equal(want, got) }

// successor is the least key that does not begin with prefix; nil if there is none.
func successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			next := bytes.Clone(prefix[:i+1])
			next[i]++
			return next
		}
	}
	return nil
}
