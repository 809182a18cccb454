package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/statebridge/statebridge/sinks"
)

// care is how an epoch is applied.
type care int

const (
	swift  care = iota // by one COPY and two statements
	byRow              // so that rows which only the server refuses are found
	atOnce             // and with constraints checked by each statement that a user has put off until the commit
)

// cares remembers the tables whose last epoch had a row that only the server refused. Which one that was is not known then, nor are the changes at hand
// any more; so the epoch comes again and is applied with care.
type cares struct {
	mu     sync.Mutex
	tables map[string]care
}

func (c *cares) of(table string) care {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tables[table]
}

func (c *cares) set(table string, how care) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil {
		c.tables = map[string]care{}
	}
	c.tables[table] = how
}

// refusal gives the server's error where it is about a row; nil otherwise.
func refusal(err error) *pgconn.PgError {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.SchemaName == "pg_catalog" {
		return nil
	}
	if strings.HasPrefix(e.Code, "22") || strings.HasPrefix(e.Code, "23") || e.Code == "54000" {
		return e
	}
	return nil
}

// again lets the epoch come once more, to be applied with care.
func (x *transaction) again(e *pgconn.PgError, how care) error {
	x.sink.cares.set(x.sink.name(x.table), how)
	return fmt.Errorf("%w; %w", discreet(e), sinks.ErrAgain)
}

// againAtOnce does so with every table: which of them a constraint is of that was put off is not told.
func (x *transaction) againAtOnce(e *pgconn.PgError) error {
	for _, name := range x.written {
		x.sink.cares.set(name, atOnce)
	}
	return x.again(e, atOnce)
}

// explain names the row that the server refused, as far as it can be told.
func (x *transaction) explain(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	line, column := copyPlace(e)
	letters := x.table.Refused != nil // of which each is to name a row for sure
	switch {
	case e.Code == "21000" || e.Code == "23505" && x.to.Full && !letters:
		return x.twice(", or another unique value,")
	case x.careful != nil || x.copying == nil:
		return classify(err)
	case e.Code == "54000" && x.longest.size > 0 && !letters:
		return sinks.Refuse(x.table, x.to, x.longest.change, "", meaning(e.Code))
	case line > 0 && permanent(e.Code) && !letters:
		return sinks.Refuse(x.table, x.to, x.copying.change(line), x.columnName(column), meaning(e.Code))
	case refusal(err) != nil:
		return x.again(e, byRow)
	}
	return classify(err)
}

// explainCommit does so for constraints that are put off until then.
func (x *transaction) explainCommit(err error) error {
	if e := refusal(err); e != nil && x.how < atOnce {
		return x.againAtOnce(e)
	}
	return classify(err)
}
