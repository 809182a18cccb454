package postgres

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/statebridge/statebridge/stream"
)

// chunk is how much text is gathered before it goes to the connection.
const chunk = 64 << 10

// copying is a COPY under way: text goes in at one end while the connection sends what came before.
type copying struct {
	to    *io.PipeWriter
	ended chan struct{}
	err   error // valid once ended is closed
	text  []byte
	lines int64
	runs  []run
}

// run says which changes a stretch of lines holds: one partition, dense sequence.
type run struct {
	line      int64
	partition int
	seq       uint64
}

func startCopy(ctx context.Context, conn *pgconn.PgConn, statement string) *copying {
	from, to := io.Pipe()
	c := &copying{to: to, ended: make(chan struct{}), text: make([]byte, 0, chunk+chunk/4)}
	go func() {
		defer close(c.ended)
		_, c.err = conn.CopyFrom(ctx, from, statement)
		from.CloseWithError(errors.Join(c.err, io.ErrClosedPipe)) // whoever still writes must not wait
	}()
	return c
}

// note says which change the next line holds.
func (c *copying) note(change stream.Change) {
	c.lines++
	if n := len(c.runs); n > 0 {
		last := c.runs[n-1]
		if last.partition == change.Partition && last.seq+uint64(c.lines-last.line) == change.Seq {
			return
		}
	}
	c.runs = append(c.runs, run{line: c.lines, partition: change.Partition, seq: change.Seq})
}

// change says which change a line holds.
func (c *copying) change(line int64) stream.Change {
	i := sort.Search(len(c.runs), func(i int) bool { return c.runs[i].line > line }) - 1
	if i < 0 {
		return stream.Change{}
	}
	return stream.Change{Partition: c.runs[i].partition, Seq: c.runs[i].seq + uint64(line-c.runs[i].line)}
}

// flush passes the text on if there is enough of it.
func (c *copying) flush(least int) error {
	if len(c.text) < least {
		return nil
	}
	_, err := c.to.Write(c.text)
	c.text = c.text[:0]
	if err != nil {
		return c.end() // the pipe only breaks when the COPY has ended, and that error says why
	}
	return nil
}

// end completes the COPY and waits for the server's word.
func (c *copying) end() error {
	c.to.Close()
	<-c.ended
	return c.err
}

// abort gives the COPY up; the connection is of no more use.
func (c *copying) abort() {
	c.to.CloseWithError(errors.New("given up"))
	<-c.ended
}
