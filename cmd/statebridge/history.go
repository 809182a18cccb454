package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/state"
)

type historyFlags struct {
	getFlags
	job string
}

func newHistory() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history CHECKPOINTS --key KEY",
		Short: "Show how the rows of one key changed from checkpoint to checkpoint",
		Long: `History looks a key up in every checkpoint that a job has kept, oldest first, and prints a line for each row that came (c), changed (u) or went (d) since the one before.
CHECKPOINTS is the directory of a job's checkpoints, or that of all jobs. A checkpoint that can't be read is named on stderr and left out.`,
		Example: "  statebridge history /flink/checkpoints --operator accounts-op --state balance --key alice",
		Args:    exactly("CHECKPOINTS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("key") {
				return usagef("--key is required")
			}
			return f.run(cmd, args[0])
		},
	}
	f.snapshotFlags.register(cmd)
	f.selection.register(cmd)
	f.selection.registerColumns(cmd)
	f.registerKey(cmd)
	cmd.Flags().StringVar(&f.job, "job", "", "`ID` of the job, where the directory holds several (default: the one with the newest checkpoint)")
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command, base string) (err error) {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	if f.names, err = f.rowNames(); err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	f.timers = true
	ctx := cmd.Context()
	found, err := checkpoint.Discover(ctx, o.Store, base, f.job)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return f.noneFound(ctx, o.Store, base)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	var before keyRows
	seen := false
	for _, c := range found {
		rows, err := f.at(ctx, c, before, cmd.Flags().Changed)
		if usage := new(usageError); errors.As(err, &usage) || errors.Is(err, checkpoint.ErrKeyType) || ctx.Err() != nil {
			return flushed(out, err)
		}
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "checkpoint %d is left out: %v\n", c.ID, err)
			continue
		}
		seen = seen || len(rows) > 0
		if err := printChanges(out, c, before, rows); err != nil {
			return err
		}
		before = rows
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if !seen {
		return fmt.Errorf("no checkpoint has a row of the %s", f.wanted(cmd.Flags().Changed))
	}
	return nil
}

// noneFound says why no checkpoint was found, and what there is instead.
func (f *historyFlags) noneFound(ctx context.Context, store storage.Store, base string) error {
	entries, err := store.List(ctx, base)
	if err != nil {
		return err
	}
	var dirs []string
	for _, e := range entries {
		if e.Name == checkpoint.MetadataFile {
			return fmt.Errorf("%s is one snapshot: history takes the directory above it, which holds the checkpoints of its job", base)
		}
		if e.IsDir {
			dirs = append(dirs, e.Name)
		}
	}
	if f.job == "" {
		return fmt.Errorf("no complete checkpoint below %s", base)
	}
	if len(dirs) == 0 {
		dirs = []string{"none"}
	}
	return fmt.Errorf("no complete checkpoint of job %s below %s; directories there: %s", f.job, base, strings.Join(dirs, ", "))
}

// keyRows are the rows of a key, by what tells them apart; the operator's id comes first.
type keyRows map[string]keyRow

type keyRow struct{ line, value string }

// at gives the key's rows in a checkpoint. Those of an operator of which subtasks have finished are in no checkpoint any more and stay as they were.
func (f *historyFlags) at(ctx context.Context, c checkpoint.Found, before keyRows, given func(string) bool) (keyRows, error) {
	snap, err := f.open(ctx, c.Location)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	tables, err := f.tables(ctx, snap)
	if err != nil {
		return nil, err
	}
	rows := keyRows{}
	for _, o := range snap.Operators() {
		for id, row := range before {
			if o.AnyFinished() && strings.HasPrefix(id, o.ID) {
				rows[id] = row
			}
		}
	}
	err = f.each(ctx, tables, given, func(t *checkpoint.Table, l *liner, row *state.Row) error {
		id := strings.Join([]string{t.Operator.ID, t.Name, string(row.Key), string(row.Namespace), string(row.MapKey)}, "\x00")
		rows[id] = keyRow{string(l.row(row)), string(row.Value)}
		return nil
	})
	return rows, err
}

// printChanges prints what happened to rows since the checkpoint before. A TTL timestamp that moved is no change.
func printChanges(out io.Writer, c checkpoint.Found, before, after keyRows) error {
	ids := keyRows{}
	maps.Copy(ids, before)
	maps.Copy(ids, after)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		was, had := before[id]
		is, has := after[id]
		op, line := "u", is.line
		switch {
		case had && has && was.value == is.value:
			continue
		case !had:
			op = "c"
		case !has:
			op, line = "d", was.line
		}
		head := `{"checkpoint_id":` + strconv.FormatInt(c.ID, 10) + `,"time":"` + c.Time.UTC().Format(time.RFC3339) + `","op":"` + op + `",`
		if _, err := fmt.Fprintln(out, head+line[1:]); err != nil {
			return err
		}
	}
	return nil
}
