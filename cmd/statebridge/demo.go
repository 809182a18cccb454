package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/render"
)

// demoConfig is the config that the demo runs with; sinks for Postgres and Redis are added when their URLs are set.
const demoConfig = `source:
  name: bank
  flink: {checkpoints: %s}
consumers:
  - {name: accounts, operator: accounts-op, state: balance, columns: {id: key, balance: value}}
  - {name: profiles, operator: accounts-op, state: profile}
  - {name: carts, operator: carts-op, state: items}
sinks:
  - {name: local, consumers: [accounts, profiles, carts], sqlite: {path: %s}}
`

const (
	demoPostgres = "  - {name: pg, consumers: [accounts, profiles, carts], postgres: {url: \"${DATABASE_URL}\"}}\n"
	demoRedis    = "  - {name: cache, consumers: [accounts], redis: {url: \"${REDIS_URL}\", key: \"accounts:{id}\"}}\n"
)

// demoShown is how many changes and rows are shown of each table.
const demoShown = 5

func newDemo() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Mirror the checkpoints of a real job that come with the program",
		Long: `Demo needs nothing but this program. Five checkpoints that a real Flink job wrote, with RocksDB, arrive one after the other in a directory. Each is
mirrored as 'run --once' does it: through an embedded NATS server into a SQLite file, and into Postgres and Redis when DATABASE_URL and REDIS_URL are
set. What changed is shown, and at the end the rows.`,
		Example: "  statebridge demo\n  DATABASE_URL=postgres://localhost/bank REDIS_URL=redis://localhost statebridge demo",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dataDir == "" {
				dataDir = firstOf(os.Getenv("STATEBRIDGE_DATA_DIR"), "statebridge-data")
			}
			d := &demo{dir: filepath.Join(dataDir, "demo"), out: bufio.NewWriter(cmd.OutOrStdout()), stderr: cmd.ErrOrStderr()}
			err := d.run(cmd.Context())
			if e := d.out.Flush(); err == nil {
				err = e
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "`DIR` that the demo writes to, in a directory demo of its own (default ./statebridge-data)")
	return cmd
}

type demo struct {
	dir    string // emptied at the start
	out    *bufio.Writer
	stderr io.Writer
	config *config.Config
}

func (d *demo) checkpoints() string { return filepath.Join(d.dir, "checkpoints") }

func (d *demo) database() string { return filepath.Join(d.dir, "bank.db") }

func (d *demo) run(ctx context.Context) error {
	snapshots, err := demodata.Snapshots()
	if err != nil {
		return err
	}
	if err := d.prepare(); err != nil {
		return err
	}
	last := ""
	for _, s := range snapshots {
		if err := s.Arrive(d.checkpoints()); err != nil {
			return err
		}
		now := filepath.Join(d.checkpoints(), s.Path)
		fmt.Fprintf(d.out, "\n%s has arrived\n", filepath.Base(s.Path))
		if err := d.mirror(ctx); err != nil {
			return err
		}
		for _, c := range d.config.Consumers {
			if err := d.changes(ctx, c, last, now); err != nil {
				return err
			}
		}
		if err := d.out.Flush(); err != nil {
			return err
		}
		last = now
	}
	return d.tables(ctx, last)
}

func (d *demo) prepare() error {
	if err := os.RemoveAll(d.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(d.checkpoints(), 0o755); err != nil {
		return err
	}
	text := fmt.Sprintf(demoConfig, quote(d.checkpoints()), quote(d.database()))
	if os.Getenv("DATABASE_URL") != "" {
		text += demoPostgres
	}
	if os.Getenv("REDIS_URL") != "" {
		text += demoRedis
	}
	var err error
	d.config, err = config.Parse([]byte(text), os.LookupEnv, map[string]string{"data_dir": filepath.Join(d.dir, "data"), "log.level": "error"})
	fmt.Fprintf(d.out, "The config:\n\n%s", text)
	return err
}

// mirror does what run --once does.
func (d *demo) mirror(ctx context.Context) error {
	return (&runFlags{once: true, patience: time.Minute}).run(ctx, d.config, nil, newLogger(d.config.Log, d.stderr))
}

// changes shows what the last epoch of a consumer held.
func (d *demo) changes(ctx context.Context, c config.Consumer, base, next string) error {
	counts, shown, err := d.diff(ctx, c, base, next)
	if err != nil {
		return err
	}
	if base == "" {
		fmt.Fprintf(d.out, "  %-9s full: %d rows\n", c.Name, counts[differ.Read])
		return nil
	}
	fmt.Fprintf(d.out, "  %-9s %d created, %d updated, %d deleted\n", c.Name, counts[differ.Create], counts[differ.Update], counts[differ.Delete])
	for _, line := range shown {
		fmt.Fprintf(d.out, "            %s\n", line)
	}
	return nil
}

func (d *demo) diff(ctx context.Context, c config.Consumer, baseAt, nextAt string) (map[differ.Op]int, []string, error) {
	next, err := checkpoint.Open(ctx, nextAt, checkpoint.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer next.Close()
	after, err := next.Table(ctx, c.Operator, c.State)
	if err != nil {
		return nil, nil, err
	}
	var before differ.Table
	if baseAt != "" {
		base, err := checkpoint.Open(ctx, baseAt, checkpoint.Options{})
		if err != nil {
			return nil, nil, err
		}
		defer base.Close()
		if before, err = base.Table(ctx, c.Operator, c.State); err != nil {
			return nil, nil, err
		}
	}
	counts, shown := map[differ.Op]int{}, []string(nil)
	for change, err := range differ.Diff(ctx, before, after, checkpoint.AllKeyGroups(after.MaxParallelism()), differ.Options{}) {
		if err != nil {
			return nil, nil, err
		}
		counts[change.Op]++
		if len(shown) < demoShown {
			shown = append(shown, changeText(change))
		}
	}
	return counts, shown, nil
}

func changeText(c differ.Change) string {
	r := c.Row()
	text := string(byte(c.Op)) + " " + string(r.Key)
	if r.MapKey != nil {
		text += " " + string(r.MapKey)
	}
	if c.Before != nil {
		text += "  " + string(c.Before.Value)
	}
	if c.After != nil {
		text += "  → " + string(c.After.Value)
	}
	return text
}

// tables shows the mirrored tables and compares their sizes with the snapshot's.
func (d *demo) tables(ctx context.Context, last string) error {
	db, err := sql.Open("sqlite", d.database())
	if err != nil {
		return err
	}
	defer db.Close()
	snap, err := checkpoint.Open(ctx, last, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer snap.Close()
	for _, c := range d.config.Consumers {
		t, err := snap.Table(ctx, c.Operator, c.State)
		if err != nil {
			return err
		}
		want, err := t.Count(ctx)
		if err != nil {
			return err
		}
		if err := d.table(ctx, db, c.Name, want); err != nil {
			return err
		}
	}
	var key string
	if err := db.QueryRowContext(ctx, "SELECT min(id) FROM accounts").Scan(&key); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nThe tables are in %s. Look around:\n  statebridge inspect %s\n  statebridge get %s --operator accounts-op --state balance --key %s\n",
		d.database(), last, last, key)
	return nil
}

func (d *demo) table(ctx context.Context, db *sql.DB, name string, want int64) error {
	var have int64
	table := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&have); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nTable %s: %d rows, the snapshot has %d\n", name, have, want)
	if have != want {
		return fmt.Errorf("table %s has %d rows and the snapshot %d", name, have, want)
	}
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY 1, 2 LIMIT "+fmt.Sprint(demoShown))
	if err != nil {
		return err
	}
	defer rows.Close()
	return printRows(d.out, rows)
}

// printRows prints a query's rows as a table for people.
func printRows(out io.Writer, rows *sql.Rows) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	var columns []render.Column
	values, targets := make([]any, len(names)), make([]any, len(names))
	for i, n := range names {
		columns = append(columns, render.Column{Name: n, Type: "json", Nullable: true})
		targets[i] = &values[i]
	}
	w, err := render.New(render.Table, out, columns, renderOptions())
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		row := map[string]any{}
		for i, n := range names {
			row[n] = values[i]
			if text, ok := values[i].(string); ok && json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "[{") {
				row[n] = json.RawMessage(text)
			}
		}
		b, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if err := w.Write(b); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Close()
}
