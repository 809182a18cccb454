package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// verification reads the keys of rows, many a pipeline, and then all keys that begin like the template. Redis shows no state of one moment, so the position must
// be the same at the end, with nobody writing.
type verification struct {
	x        *transaction // for its ways of writing a row; it is never begun
	at       sinks.Position
	expected *keySet
}

// Verify begins a comparison.
func (s *Sink) Verify(ctx context.Context, t sinks.Table, at sinks.Position, tempDir string) (sinks.Verification, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, classify(err)
	}
	keys, err := s.template(t)
	if err != nil {
		return nil, err
	}
	if s.options.Publish == Swap {
		prefix, err := client.HGet(ctx, positionKey(t), "prefix").Result() // which the position answers for
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, classify(err)
		}
		keys = keys.at(prefix)
	}
	s.mu.Lock()
	limit := s.limit
	s.mu.Unlock()
	names, err := known(ctx, client, t)
	if err != nil {
		return nil, classify(err)
	}
	kept, ignored := s.options.SchemaDrift.Split(t.Columns, func(c stream.Column) bool { return slices.Contains(names, c.Name) })
	v := &verification{at: at, x: &transaction{
		StandIns: sinks.StandIns{On: s.options.BadValue}, sink: s, client: client, table: t, keys: &table{template: keys, columns: kept, ignored: ignored}, limit: limit,
	}}
	v.x.takeApart()
	if err := v.still(ctx); err != nil {
		return nil, err
	}
	v.expected, err = newKeySet(tempDir)
	return v, err
}

// still gives ErrFenced when the position has moved, or is about to: a writer leaves its mark before the first row and takes it away with the last.
func (v *verification) still(ctx context.Context) error {
	writer, err := v.x.client.HExists(ctx, positionKey(v.x.table), "writer").Result()
	if err != nil {
		return classify(err)
	}
	now, err := v.x.sink.Position(ctx, v.x.table)
	if err != nil {
		return err
	}
	if writer || now != v.at {
		return sinks.ErrFenced
	}
	return nil
}

// Expect reads the rows' keys and compares.
func (v *verification) Expect(ctx context.Context, rows []stream.Change, tell func(sinks.Difference) error) error {
	for batch := range slices.Chunk(rows, pipelineRows) {
		if err := v.expect(ctx, batch, tell); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) expect(ctx context.Context, rows []stream.Change, tell func(sinks.Difference) error) error {
	pipe := v.x.client.Pipeline()
	replies, wants := make([]redis.Cmder, len(rows)), make([]map[string]string, len(rows))
	for i, c := range rows {
		key, want, unfit := v.form(c)
		if unfit != nil {
			continue
		}
		if err := v.expected.add(key); err != nil {
			return err
		}
		if wants[i] = want; v.x.sink.options.Encoding == Hash {
			replies[i] = pipe.HGetAll(ctx, key)
		} else {
			replies[i] = pipe.Get(ctx, key)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") && !errors.Is(err, redis.Nil) {
		return classify(err)
	}
	for i, c := range rows {
		if replies[i] == nil {
			if err := tell(sinks.Unheld(c)); err != nil {
				return err
			}
			continue
		}
		d, differs, err := v.compare(replies[i], wants[i])
		if err != nil {
			return classify(err)
		}
		if d.Key, d.Want = c.Key, c.After; !differs {
			continue
		}
		if err := tell(d); err != nil {
			return err
		}
	}
	return nil
}

// form gives a row's key and what it must hold.
func (v *verification) form(c stream.Change) (key string, want map[string]string, err error) {
	text, _, err := v.x.locate(c)
	if err == nil {
		want, err = v.values(c)
	}
	return string(text), want, err
}

// whole is the member under which the only value of a string stands.
const whole = ""

// values gives what a row's key must hold: its fields, or the whole string.
func (v *verification) values(c stream.Change) (map[string]string, error) {
	values, err := v.x.values(c)
	if err != nil {
		return nil, sinks.Refuse(v.x.table, v.x.to, c, "", err.Error())
	}
	if v.x.sink.options.Encoding != Hash {
		text, column, err := v.x.appendString(nil, c, values)
		if err != nil {
			return nil, v.x.refuse(c, column, err)
		}
		return map[string]string{whole: string(text)}, nil
	}
	want := map[string]string{}
	for i, value := range values {
		if value == nil {
			continue
		}
		name := v.x.table.Columns[i].Name
		text, err := v.x.appendField(nil, v.x.table.Columns[i].Type, value)
		if err != nil {
			return nil, v.x.refuse(c, name, err)
		}
		want[name] = string(text)
	}
	return want, nil
}

func (v *verification) compare(reply redis.Cmder, want map[string]string) (d sinks.Difference, differs bool, err error) {
	var have map[string]string
	switch r := reply.(type) {
	case *redis.MapStringStringCmd:
		have, err = r.Result()
	case *redis.StringCmd:
		var text string
		if text, err = r.Result(); err == nil {
			have = map[string]string{whole: text}
		}
	}
	d.Kind = sinks.Different
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		d.Have, d.Columns = []byte(`"a value of another type"`), v.names()
		return d, true, nil
	case errors.Is(err, redis.Nil) || err == nil && len(have) == 0:
		d.Kind = sinks.Missing
		return d, true, nil
	case err != nil:
		return d, false, err
	}
	if _, ok := want[whole]; ok && v.x.sink.options.Encoding != Hash {
		if have[whole] == want[whole] {
			return d, false, nil
		}
		d.Columns = v.names()
		d.Have, err = json.Marshal(have[whole])
		return d, true, err
	}
	for _, c := range v.x.table.Columns {
		a, hasA := want[c.Name]
		if b, hasB := have[c.Name]; a != b || hasA != hasB {
			d.Columns = append(d.Columns, c.Name)
		}
	}
	d.Have, err = json.Marshal(have)
	return d, d.Columns != nil, err
}

// names are those of the columns beside the key.
func (v *verification) names() (names []string) {
	for _, c := range v.x.table.Columns {
		if !c.Key {
			names = append(names, c.Name)
		}
	}
	return names
}

// Rest scans for keys that were not expected.
func (v *verification) Rest(ctx context.Context, tell func(sinks.Difference) error) error {
	there, err := newKeySet(v.expected.parent)
	if err != nil {
		return err
	}
	defer func() { _ = there.close() }()
	err = masters(ctx, v.x.client, func(ctx context.Context, c *redis.Client) error {
		return scan(ctx, c, v.x.keys.texts[0], func(keys []string) error {
			for _, k := range keys {
				if err := there.add(k); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return classify(err)
	}
	err = there.without(v.expected, func(key string) error {
		name, err := json.Marshal(key)
		if err != nil {
			return err
		}
		return tell(sinks.Difference{Kind: sinks.Extra, Key: name})
	})
	if err != nil {
		return err
	}
	return v.still(ctx)
}

// Close removes what was written of keys.
func (v *verification) Close(context.Context) error { return v.expected.close() }

// Mend writes the rows and deletes the keys, on the side that readers see: what was wrong there gets right row by row.
func (s *Sink) Mend(ctx context.Context, t sinks.Table, at sinks.Position, rows uint64, differences []sinks.Difference) (err error) {
	begun, err := s.Begin(ctx, t, at, sinks.Stay(t, at, rows))
	if err != nil {
		return err
	}
	x := begun.(*transaction)
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Rollback(ctx))
		}
	}()
	if x.swap != nil {
		x.swap.mending = true
	}
	if err := x.open(ctx); err != nil {
		return classify(err)
	}
	for _, d := range differences {
		if d.Kind != sinks.Extra {
			err = x.Apply(ctx, []stream.Change{{Op: 'u', Key: d.Key, After: d.Want}})
		} else {
			err = x.drop(ctx, d.Key)
		}
		if err != nil {
			return err
		}
	}
	return x.Commit(ctx)
}

// drop deletes a key by its own name.
func (x *transaction) drop(ctx context.Context, name []byte) error {
	text, exact := jsonscan.AppendText(nil, name)
	if !exact {
		return fmt.Errorf("consumer %q: a key that can't be named", x.table.Consumer)
	}
	if x.full() || x.next.has[string(text)] {
		if err := x.send(ctx); err != nil {
			return err
		}
	}
	x.remove(text)
	return nil
}
