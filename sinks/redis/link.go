package redis

import (
	"bufio"
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// link is a connection to one server for commands that are bytes already: what go-redis does for each command would cost more than a row itself.
// go-redis dials it, says hello and signs in.
type link struct {
	client *redis.Client
	conn   net.Conn
	in     *bufio.Reader
	write  time.Duration // that a piece may take to leave; 0: any
	read   time.Duration // that a reply may take to come
}

// linkBuffer holds the replies of a batch, mostly.
const linkBuffer = 16 << 10

// linkPiece is what leaves at once: a long batch on a slow line goes on for as long as pieces of it get through.
const linkPiece = 1 << 20

// dialLink makes one to the server of a client.
func dialLink(ctx context.Context, to *redis.Client) (*link, error) {
	l := &link{}
	o := *to.Options()
	l.write, l.read = max(o.WriteTimeout, 0), max(o.ReadTimeout, 0)
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		l.conn = conn
		return conn, err
	}
	o.Protocol, o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxRetries = 2, 1, 0, 0, -1 // nothing that the server says unasked
	if o.ReadTimeout == 0 {                                                               // none, which a new client is told otherwise
		o.ReadTimeout = -1
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = -1
	}
	l.client = redis.NewClient(&o)
	if err := l.client.Conn().Do(ctx, "unwatch").Err(); err != nil { // it stays out of the pool
		_ = l.client.Close()
		return nil, err
	}
	l.in = bufio.NewReaderSize(l.conn, linkBuffer)
	return l, nil
}

func deadline(after time.Duration) time.Time {
	if after == 0 {
		return time.Time{}
	}
	return time.Now().Add(after)
}

// send writes commands; the replies are the next ones to read.
func (l *link) send(commands []byte) error {
	for len(commands) > 0 {
		if err := l.conn.SetWriteDeadline(deadline(l.write)); err != nil {
			return err
		}
		n, err := l.conn.Write(commands[:min(linkPiece, len(commands))])
		if err != nil {
			return err
		}
		commands = commands[n:]
	}
	return l.conn.SetReadDeadline(deadline(l.read))
}

func (l *link) close() {
	_ = l.conn.Close()
	_ = l.client.Close()
}

// takeLink gives a link that is idle, or a fresh one.
func (s *Sink) takeLink(ctx context.Context, to *redis.Client) (l *link, fresh bool, err error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		l, s.idle = s.idle[last], s.idle[:last]
	}
	s.mu.Unlock()
	if l != nil {
		return l, false, nil
	}
	l, err = dialLink(ctx, to)
	return l, true, err
}

// giveLink takes one back, all of whose replies have been read.
func (s *Sink) giveLink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, l)
}

// dropLinks closes those that are idle: what went wrong elsewhere may have to do with where they lead.
func (s *Sink) dropLinks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.idle {
		l.close()
	}
	s.idle = nil
}
