package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/registry"
)

func newDeadLetters() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Show, replay or drop the rows that sinks could not write",
		Long: `A sink with refused_rows: dead_letter goes on without a row that its target can't hold, and keeps the row as a dead letter. These commands
can be used while run is going on.`,
	}
	cmd.AddCommand(newLetterList(), newLetterShow(), newLetterReplay(), newLetterDrop())
	return cmd
}

// withLetters runs a command on the dead letters of the config's source.
func withLetters(cmd *cobra.Command, f *configFlags, use func(context.Context, *registry.Registry, *registry.Letters, []registry.Letter) error) error {
	c, err := f.load(cmd)
	if err != nil {
		return err
	}
	return openLetters(cmd.Context(), c, use)
}

func openLetters(ctx context.Context, c *config.Config, use func(context.Context, *registry.Registry, *registry.Letters, []registry.Letter) error) error {
	source, reg, done, err := openRegistry(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	letters, err := registry.OpenLetters(ctx, source)
	if err != nil {
		return err
	}
	all, err := letters.List(ctx)
	if err != nil {
		return err
	}
	return use(ctx, reg, letters, all)
}

// findLetter picks a letter by its id.
func findLetter(all []registry.Letter, id string) (registry.Letter, error) {
	i := slices.IndexFunc(all, func(l registry.Letter) bool { return l.ID == id })
	if i < 0 {
		return registry.Letter{}, fmt.Errorf("no dead letter %q; 'statebridge dlq list' shows them", id)
	}
	return all[i], nil
}

func newLetterList() *cobra.Command {
	f := &configFlags{}
	var output string
	cmd := &cobra.Command{
		Use: "list --config FILE", Short: "List dead letters with place and reason",
		Long:    `List prints a line for each row that a sink could not write: which, where it is found, and why; not what it holds. Those of consumers and sinks that the config has no more are among them.`,
		Example: "  statebridge dlq list --config statebridge.yaml", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usagef("--output %q: table or json is expected", output)
			}
			return withLetters(cmd, f, func(_ context.Context, _ *registry.Registry, _ *registry.Letters, all []registry.Letter) error {
				if output == "json" {
					return printLettersJSON(cmd.OutOrStdout(), all)
				}
				return printLetters(cmd.OutOrStdout(), all)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORMAT`: table or json")
	return cmd
}

func printLetters(out io.Writer, all []registry.Letter) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tCONSUMER\tSINK\tTIME\tEPOCH\tCHECKPOINT\tPARTITION\tSEQ\tCOLUMN\tREASON")
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", l.ID, l.Consumer, l.Sink, l.Time.Format(time.RFC3339), l.Epoch, l.CheckpointID, l.Partition, l.Seq,
			cmp.Or(l.Column, "-"), l.Reason)
	}
	return w.Flush()
}

// printLettersJSON leaves out what rows hold: show prints that.
func printLettersJSON(out io.Writer, all []registry.Letter) error {
	e := json.NewEncoder(out)
	for _, l := range all {
		l.Key = nil
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

func newLetterShow() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: "show ID --config FILE", Short: "Print a dead letter with its row",
		Long:    `Show prints a dead letter as JSON: place, reason, key and row.`,
		Example: "  statebridge dlq show 5d41402abc4b2a76b9719d91 --config statebridge.yaml", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLetters(cmd, f, func(ctx context.Context, _ *registry.Registry, letters *registry.Letters, all []registry.Letter) error {
				l, err := findLetter(all, args[0])
				if err != nil {
					return err
				}
				l, ok, err := letters.Get(ctx, l)
				if err != nil || !ok {
					return cmp.Or(err, fmt.Errorf("dead letter %s is gone by now", args[0]))
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(l)
			})
		},
	}
	f.register(cmd)
	return cmd
}

func newLetterReplay() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: "replay ID --config FILE", Short: "Try the row of a dead letter again",
		Long: `Replay asks for a full epoch of the letter's consumer. The sink then writes all rows as the newest snapshot has them, so nothing newer can be overwritten: the letter
is gone afterwards, or there again with its new reason and place. So are the other letters of the consumer in that sink. Without a process that runs, the next one answers.`,
		Example: "  statebridge dlq replay 5d41402abc4b2a76b9719d91 --config statebridge.yaml", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			return openLetters(cmd.Context(), c, func(ctx context.Context, reg *registry.Registry, _ *registry.Letters, all []registry.Letter) error {
				l, err := findLetter(all, args[0])
				if err != nil {
					return err
				}
				if err := answered(c, l); err != nil {
					return err
				}
				return replay(ctx, reg, l, cmd.ErrOrStderr())
			})
		},
	}
	f.register(cmd)
	return cmd
}

// answered tells whether there is somebody to try a row again.
func answered(c *config.Config, l registry.Letter) error {
	if !inConfig(c, l.Consumer) {
		return fmt.Errorf("consumer %q is no longer in the config; 'statebridge dlq drop %s' forgets the letter, 'statebridge consumers remove' all of them", l.Consumer, l.ID)
	}
	if !slices.ContainsFunc(c.Sinks, func(s config.Sink) bool { return s.Name == l.Sink && slices.Contains(s.Consumers, l.Consumer) }) {
		return fmt.Errorf("no sink %q in the config mirrors consumer %q any more; 'statebridge dlq drop %s' forgets the letter", l.Sink, l.Consumer, l.ID)
	}
	return nil
}

func replay(ctx context.Context, reg *registry.Registry, l registry.Letter, stderr io.Writer) error {
	q := registry.Resync{Consumer: l.Consumer, Sink: l.Sink, Reason: "dead letter " + l.ID + " is replayed"}
	positions, err := reg.Positions(ctx, l.Consumer)
	if err != nil {
		return err
	}
	for _, p := range positions {
		if p.Sink == l.Sink {
			q.Chain, q.After = p.Chain, p.Epoch
		}
	}
	if err := reg.RequestResync(ctx, q); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: a full epoch is asked for\n", l.Consumer)
	return nil
}

func newLetterDrop() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: "drop ID --config FILE", Short: "Forget a dead letter",
		Long:    `Drop forgets a dead letter. The target goes on without the row until the row changes or a full epoch comes.`,
		Example: "  statebridge dlq drop 5d41402abc4b2a76b9719d91 --config statebridge.yaml", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLetters(cmd, f, func(ctx context.Context, _ *registry.Registry, letters *registry.Letters, all []registry.Letter) error {
				l, err := findLetter(all, args[0])
				if err != nil {
					return err
				}
				return letters.Drop(ctx, l)
			})
		},
	}
	f.register(cmd)
	return cmd
}
