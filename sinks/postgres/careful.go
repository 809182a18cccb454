package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// careful applies an epoch so that the rows which the server refuses are found: what it refuses is done again in halves, each in a savepoint, down to
// single rows. Staging keeps the change of each row with it.
type careful struct {
	*transaction
	number  int64 // of the last change
	at      lines // of the changes at hand
	refused int
	late    int64 // of these, those that were staged
}

// lines are changes in COPY's form.
type lines struct {
	changes []stream.Change
	numbers []int64
	text    []byte
	ends    []int
}

// between gives the text of some lines.
func (l *lines) between(low, high int64) []byte {
	start := 0
	if low > 0 {
		start = l.ends[low-1]
	}
	return l.text[start:l.ends[high-1]]
}

// apply stages changes.
func (c *careful) apply(ctx context.Context, changes []stream.Change) error {
	c.at = lines{text: c.at.text[:0]}
	err := c.table.Each(ctx, changes, func(change stream.Change) error {
		c.number++
		return c.add(change, c.number)
	})
	if err != nil {
		return err
	}
	return c.copy(ctx)
}

// add writes a line.
func (c *careful) add(change stream.Change, number int64) error {
	text, err := c.line(c.at.text, change)
	if err != nil {
		return err
	}
	text = strconv.AppendInt(append(text, '\t'), number, 10)
	text = append(text, '\t', goneFlag(change), '\t')
	text = strconv.AppendInt(text, int64(change.Partition), 10)
	text = strconv.AppendUint(append(text, '\t'), change.Seq, 10)
	text = append(text, '\t', change.Op, '\t')
	text = append(appendEscaped(text, change.Key), '\t')
	c.at.text = append(appendEscaped(text, change.After), '\n')
	c.at.changes, c.at.numbers, c.at.ends = append(c.at.changes, change), append(c.at.numbers, number), append(c.at.ends, len(c.at.text))
	c.count(change, 1)
	return nil
}

// copy sends the lines at hand. What the target holds of a row that is refused is to be deleted, at that row's place among the changes.
func (c *careful) copy(ctx context.Context) error {
	var gone []int64
	at := c.at
	err := c.halves(ctx, 0, int64(len(at.changes)), func(low, high int64) error {
		_, err := c.tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(at.between(low, high)), c.statements.copyStaged)
		return err
	}, func(i int64, why *pgconn.PgError) error {
		change := at.changes[i]
		c.count(change, -1)
		_, column := copyPlace(why)
		if err := c.spare(ctx, change, c.columnName(column), why); err != nil || change.Op != 'u' {
			return err
		}
		gone = append(gone, i)
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	c.at = lines{}
	for _, i := range gone {
		change := at.changes[i]
		change.Op, change.After = 'd', nil
		if err := c.add(change, at.numbers[i]); err != nil {
			return err
		}
	}
	return c.copy(ctx)
}

// spare hands a row over to the table's owner, or refuses the epoch for it.
func (c *careful) spare(ctx context.Context, change stream.Change, column string, why *pgconn.PgError) error {
	if why.ColumnName != "" {
		column = why.ColumnName
	}
	err := sinks.Refuse(c.table, c.to, change, column, refusedFor(why))
	c.refused++
	var refused *sinks.RowError
	if c.table.Refused == nil || !errors.As(err, &refused) {
		return err
	}
	return c.table.Refused(ctx, change, refused)
}

// finish turns what is staged into rows.
func (c *careful) finish(ctx context.Context) error {
	remove := c.statements.deleteGone
	if c.to.Full {
		remove = c.statements.deleteOthers
	}
	for _, statement := range []string{c.statements.keepNet, c.statements.indexStaged, c.statements.analyze, remove} {
		if _, err := c.tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	var net int64
	if err := c.tx.QueryRow(ctx, c.statements.countNet).Scan(&net); err != nil {
		return err
	}
	if (c.to.Full || c.statements.merges) && net < c.upserts {
		return c.twice("")
	}
	if err := c.upsert(ctx); err != nil {
		return err
	}
	if c.refused == 0 {
		c.sink.cares.set(c.sink.name(c.table), swift)
	}
	return nil
}

// upsert writes the rows. One that has a unique value which another row is about to give up is tried again once all others are written.
func (c *careful) upsert(ctx context.Context) error {
	var waiting []int64
	err := c.halves(ctx, 1, c.number+1, c.upsertSome(ctx), func(number int64, why *pgconn.PgError) error {
		if (why.Code == "23505" || why.Code == "23P01") && len(waiting) < maxWaiting {
			waiting = append(waiting, number)
			return nil
		}
		return c.drop(ctx, number, why)
	})
	for before := -1; err == nil && len(waiting) > 0; {
		last := len(waiting) == before // nothing more comes free
		before = len(waiting)
		waiting = slices.DeleteFunc(waiting, func(number int64) bool {
			if err != nil {
				return false
			}
			written := true
			err = c.halves(ctx, number, number+1, c.upsertSome(ctx), func(number int64, why *pgconn.PgError) error {
				if written = last; last {
					return c.drop(ctx, number, why)
				}
				return nil
			})
			return written
		})
	}
	return err
}

// maxWaiting bounds the rows that wait for a unique value.
const maxWaiting = 1000

func (c *careful) upsertSome(ctx context.Context) func(low, high int64) error {
	return func(low, high int64) error {
		_, err := c.tx.Exec(ctx, c.statements.upsertSome, low, high)
		return err
	}
}

// drop gives up a staged row, and what the table holds of it.
func (c *careful) drop(ctx context.Context, number int64, why *pgconn.PgError) error {
	change := stream.Change{}
	var op string
	err := c.tx.QueryRow(ctx, c.statements.change, number).Scan(&change.Partition, &change.Seq, &op, &change.Key, &change.After)
	if err != nil {
		return err
	}
	change.Op = op[0]
	if err := c.spare(ctx, change, "", why); err != nil {
		return err
	}
	c.count(change, -1)
	c.late++
	done, err := c.tx.Exec(ctx, c.statements.deleteOne, number)
	if err == nil && change.Op == 'u' {
		c.rows -= done.RowsAffected()
	}
	return err
}

// halves tries a stretch of rows, and where the server refuses one of them, each half by itself, until it is alone and at fault.
func (c *careful) halves(ctx context.Context, low, high int64, try func(low, high int64) error, fault func(int64, *pgconn.PgError) error) error {
	if low >= high {
		return nil
	}
	err := c.attempt(ctx, func() error { return try(low, high) })
	why := refusal(err)
	if why == nil {
		return err
	}
	if high-low == 1 {
		return fault(low, why)
	}
	middle := low + (high-low)/2
	if err := c.halves(ctx, low, middle, try, fault); err != nil {
		return err
	}
	return c.halves(ctx, middle, high, try, fault)
}

// attempt undoes what the server refuses.
func (c *careful) attempt(ctx context.Context, f func() error) error {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT statebridge"); err != nil {
		return err
	}
	err := f()
	if err != nil && refusal(err) == nil {
		return err
	}
	if err != nil {
		if _, e := c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT statebridge"); e != nil {
			return e
		}
	}
	if _, e := c.tx.Exec(ctx, "RELEASE SAVEPOINT statebridge"); e != nil {
		return e
	}
	return err
}
