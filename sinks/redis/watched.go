package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
)

// watched is a connection to one server on which rows change by plain commands, for half of what the same rows cost the server in a script.
//
//	WATCH position, HGET position writer │ MULTI, rows, EXEC, WATCH, HGET │ MULTI, rows, EXEC, WATCH, HGET │ …
//
// A batch is sent once the reply before it has named us as the writer. Whoever takes the right to write changes the position, and an EXEC
// behind that does nothing.
type watched struct {
	*link
	token  string // of the writer that we are
	renew  []byte // makes the server watch the position from now on, and then tell whose the right to write is
	full   bool   // each row is there once, and nothing was before
	names  [][]byte
	gone   [][]byte // fields that no row has any more
	behind []byte   // set in which keys are noted, without their beginning; nil for none
	prefix []byte   // that beginning
	broken bool     // replies may be left on the connection
}

var (
	multi   = appendCommand(nil, "MULTI")
	exec    = appendCommand(nil, "EXEC")
	unwatch = appendCommand(nil, "UNWATCH")
)

// watch begins: the writer must be ours already. An idle link may lead to a server that is gone, or no master any more.
func (x *transaction) watch(ctx context.Context, client *redis.Client) error {
	for {
		l, fresh, err := x.sink.takeLink(ctx, client)
		if err != nil {
			return err
		}
		w := x.newWatched(l)
		if err = w.begin(); err == nil {
			x.watched = w
			return nil
		}
		l.close()
		if fresh {
			return err
		}
	}
}

func (x *transaction) newWatched(l *link) *watched {
	position := positionKey(x.table)
	w := &watched{link: l, token: x.token, full: x.to.Full}
	w.renew = appendCommand(appendCommand(nil, "WATCH", position), "HGET", position, "writer")
	for _, c := range x.table.Columns {
		w.names = append(w.names, appendBulk(nil, c.Name))
	}
	for _, name := range x.keys.gone {
		w.gone = append(w.gone, appendBulk(nil, name))
	}
	if x.swap != nil && !x.to.Full {
		w.behind, w.prefix = appendBulk(nil, behindKey(x.table)), []byte(x.keys.texts[0])
	}
	return w
}

// begin forgets what was watched before.
func (w *watched) begin() error {
	if err := w.link.send(append(unwatch[:len(unwatch):len(unwatch)], w.renew...)); err != nil {
		return err
	}
	if _, err := readReply(w.in); err != nil {
		return err
	}
	return w.owns()
}

// owns reads the replies of renew.
func (w *watched) owns() error {
	if _, err := readReply(w.in); err != nil {
		return err
	}
	switch writer, err := readReply(w.in); {
	case err != nil:
		return err
	case writer.null || string(writer.text) != w.token:
		return sinks.ErrFenced
	}
	return nil
}

// send changes the rows of a batch, all or none, and says how many were there before where none should.
func (w *watched) send(b *batch) (there int64, err error) {
	w.broken = true
	b.plain.note(w.behind)
	b.plain.bytes = append(append(b.plain.bytes, exec...), w.renew...)
	if err := w.link.send(b.plain.bytes); err != nil {
		return 0, err
	}
	for range 1 + len(b.plain.replies) { // MULTI, and QUEUED for each command
		if _, err := readReply(w.in); err != nil {
			return 0, err
		}
	}
	if there, err = w.done(b.plain.replies); err != nil {
		return 0, err
	}
	err = w.owns()
	w.broken = err != nil
	return there, err
}

// done reads what EXEC replies. Of several errors it gives the first.
func (w *watched) done(expected []int64) (there int64, err error) {
	switch all, err := readReply(w.in); {
	case err != nil:
		return 0, err
	case all.null: // somebody has changed the position
		return 0, sinks.ErrFenced
	case all.kind != '*' || all.n != int64(len(expected)):
		return 0, errReply
	}
	for _, want := range expected {
		switch r, e := readReply(w.in); {
		case e != nil:
			return 0, e
		case w.full && (r.null || r.kind == ':' && r.n != want):
			there++
		}
	}
	return there, nil
}
