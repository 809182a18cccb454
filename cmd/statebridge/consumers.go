package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

func newConsumers() *cobra.Command {
	f := &configFlags{}
	var output string
	cmd := &cobra.Command{
		Use:   "consumers --config FILE",
		Short: "Show the consumers of a source and where their sinks stand",
		Long: `Consumers lists what is published of a source: each consumer's newest epoch and checkpoint, for each sink the epoch that it has committed, and what a consumer
that is held asks. It can be used while run is going on.`,
		Example: "  statebridge consumers --config statebridge.yaml --output json", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usagef("--output %q: table or json is expected", output)
			}
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			reports, err := reportConsumers(cmd.Context(), c)
			if err != nil {
				return err
			}
			if output == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(reports)
			}
			return printConsumers(cmd, reports)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORMAT`: table or json")
	cmd.AddCommand(newAnswer(registry.Accept, "Let a held consumer publish the deletes that it asks about",
		`Accept answers a consumer that is held: its rows are meant to go. The newest snapshot is published as it is.`),
		newAnswer(registry.Keep, "Keep the rows of a held consumer as they are",
			`Keep answers a consumer that is held: its rows stay, and nothing is published until a snapshot needs no answer. Accept may still follow.`),
		newRemove())
	return cmd
}

func newRemove() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: "remove CONSUMER --config FILE", Short: "Forget a consumer that is no longer in the config",
		Long: `Remove forgets a consumer that the config has no more: where its sinks stand, what it asks, and its dead letters. What it has published stays in the stream, and its tables
stay in the targets. It can be used while run is going on.`,
		Example: "  statebridge consumers remove accounts --config statebridge.yaml", Args: exactly("CONSUMER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			if inConfig(c, args[0]) {
				return usagef("consumer %q is in the config; take it out first", args[0])
			}
			return openLetters(cmd.Context(), c, func(ctx context.Context, reg *registry.Registry, letters *registry.Letters, _ []registry.Letter) error {
				return remove(ctx, reg, letters, args[0], cmd.ErrOrStderr())
			})
		},
	}
	f.register(cmd)
	return cmd
}

func inConfig(c *config.Config, consumer string) bool {
	return slices.ContainsFunc(c.Consumers, func(d config.Consumer) bool { return d.Name == consumer })
}

func remove(ctx context.Context, reg *registry.Registry, letters *registry.Letters, consumer string, stderr io.Writer) error {
	all, err := reg.Consumers(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(all, func(c registry.Consumer) bool { return c.Name == consumer })
	n, err := letters.Remove(ctx, consumer)
	if err != nil {
		return err
	}
	if !known && n == 0 {
		return fmt.Errorf("no consumer %q; 'statebridge consumers' shows them", consumer)
	}
	if err := reg.Remove(ctx, consumer); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: forgotten, with %d dead letters\n", consumer, n)
	return nil
}

// newAnswer makes the command that gives one of the answers, which are also its names.
func newAnswer(answer, short, long string) *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: answer + " CONSUMER[:CHECKPOINT] --config FILE", Short: short,
		Long: long + `
With CHECKPOINT, only a question that came up at that checkpoint is answered. It can be used while run is going on.`,
		Example: "  statebridge consumers " + answer + " accounts --config statebridge.yaml", Args: exactly("CONSUMER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			name, checkpoint, err := parseAnswer(c, args[0])
			if err != nil {
				return err
			}
			_, reg, done, err := openRegistry(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer done()
			q, err := reg.Answer(cmd.Context(), name, checkpoint, answer)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", name, answer, q.Text)
			return nil
		},
	}
	f.register(cmd)
	return cmd
}

// openRegistry connects to the config's server, also to the one inside a process that is running.
func openRegistry(ctx context.Context, c *config.Config) (*stream.Source, *registry.Registry, func(), error) {
	o := busOptions(c)
	o.Join = true
	bus, err := stream.Connect(ctx, o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, nil, err
	}
	source, err := bus.Source(ctx, c.Source.Name)
	if err != nil {
		bus.Close()
		return nil, nil, nil, err
	}
	reg, err := registry.Open(ctx, source)
	if err != nil {
		bus.Close()
		return nil, nil, nil, err
	}
	return source, reg, bus.Close, nil
}

func reportConsumers(ctx context.Context, c *config.Config) ([]consumerReport, error) {
	source, reg, done, err := openRegistry(ctx, c)
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := reg.Consumers(ctx)
	reports := []consumerReport{}
	for _, c := range list {
		head, ok, headErr := source.Head(ctx, c.Name)
		err = errors.Join(err, headErr)
		r := consumerReport{Name: c.Name, Operator: c.Operator, State: c.State, Publisher: c.Holder, Held: c.Question, Sinks: []sinkReport{}}
		if ok {
			r.Epoch, r.CheckpointID, r.Published, r.Rows = head.Number, head.Snapshot.CheckpointID, &head.Time, head.Rows
		}
		for _, p := range c.Positions {
			s := sinkReport{Name: p.Sink, Epoch: p.Epoch, Committed: p.Time}
			if p.Chain == head.Chain && p.Epoch <= head.Number {
				s.Behind = head.Number - p.Epoch
			} else {
				s.Behind, s.Epoch = head.Number, 0
			}
			r.Sinks = append(r.Sinks, s)
		}
		reports = append(reports, r)
	}
	return reports, err
}

type consumerReport struct {
	Name         string             `json:"name"`
	Operator     string             `json:"operator"`
	State        string             `json:"state"`
	Publisher    string             `json:"publisher,omitempty"`
	Epoch        uint64             `json:"epoch"`
	CheckpointID int64              `json:"checkpoint_id"`
	Published    *time.Time         `json:"published,omitempty"`
	Rows         *uint64            `json:"rows,omitempty"`
	Held         *registry.Question `json:"held,omitempty"`
	Sinks        []sinkReport       `json:"sinks"`
}

type sinkReport struct {
	Name      string    `json:"name"`
	Epoch     uint64    `json:"epoch"`
	Behind    uint64    `json:"epochs_behind"`
	Committed time.Time `json:"committed"`
}

func printConsumers(cmd *cobra.Command, reports []consumerReport) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONSUMER\tOPERATOR\tSTATE\tEPOCH\tCHECKPOINT\tROWS\tSINK\tCOMMITTED EPOCH\tBEHIND")
	for _, r := range reports {
		rows := ""
		if r.Rows != nil {
			rows = strconv.FormatUint(*r.Rows, 10)
		}
		if len(r.Sinks) == 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t\t\t\n", r.Name, r.Operator, r.State, r.Epoch, r.CheckpointID, rows)
		}
		for _, s := range r.Sinks {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\n", r.Name, r.Operator, r.State, r.Epoch, r.CheckpointID, rows, s.Name, s.Epoch, s.Behind)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if q := r.Held; q != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s is held since %s, checkpoint %d (%s): %s\n%s\n",
				r.Name, q.Time.Local().Format(time.DateTime), q.CheckpointID, q.Kind, q.Text, answerText(*q))
		}
	}
	return nil
}

func answerText(q registry.Question) string {
	switch q.Answer {
	case registry.Accept:
		return "  accepted; to be published with the next look at the snapshots"
	case registry.Keep:
		return "  the rows are kept; to delete them: statebridge consumers accept " + q.Consumer
	}
	return "  to delete the rows: statebridge consumers accept " + q.Consumer + "\n  to keep them:       statebridge consumers keep " + q.Consumer
}

// parseAnswer takes CONSUMER[:CHECKPOINT] apart. A name may have colons of its own.
func parseAnswer(c *config.Config, text string) (name string, checkpoint int64, err error) {
	known := func(name string) bool {
		return slices.ContainsFunc(c.Consumers, func(d config.Consumer) bool { return d.Name == name })
	}
	if known(text) {
		return text, 0, nil
	}
	if name, checkpoint, ok := cutCheckpoint(text); ok && known(name) {
		return name, checkpoint, nil
	}
	var names []string
	for _, d := range c.Consumers {
		names = append(names, d.Name)
	}
	return "", 0, usagef("%q is not CONSUMER or CONSUMER:CHECKPOINT; the config has %s", text, strings.Join(names, ", "))
}

func cutCheckpoint(text string) (string, int64, bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(text[i+1:], 10, 64)
	return text[:i], n, err == nil && n > 0
}
