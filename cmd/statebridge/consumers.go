package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

func newConsumers() *cobra.Command {
	f := &configFlags{}
	var output string
	cmd := &cobra.Command{
		Use:   "consumers --config FILE",
		Short: "Show the consumers of a source and where their sinks stand",
		Long: `Consumers lists what is published of a source: each consumer's newest epoch and checkpoint, and for each sink the epoch that it has committed.
With the embedded server it can be used only while no run is going on, since that one holds the data directory.`,
		Example: "  statebridge consumers --config statebridge.yaml --output json", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usagef("--output %q: table or json is expected", output)
			}
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			bus, err := stream.Connect(ctx, busOptions(c), slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer bus.Close()
			source, err := bus.Source(ctx, c.Source.Name)
			if err != nil {
				return err
			}
			reg, err := registry.Open(ctx, source)
			if err != nil {
				return err
			}
			list, err := reg.Consumers(ctx)
			if err != nil {
				return err
			}
			reports := []consumerReport{}
			for _, c := range list {
				head, ok, err := source.Head(ctx, c.Name)
				if err != nil {
					return err
				}
				r := consumerReport{Name: c.Name, Operator: c.Operator, State: c.State, Publisher: c.Holder, Sinks: []sinkReport{}}
				if ok {
					r.Epoch, r.CheckpointID, r.Published = head.Number, head.Snapshot.CheckpointID, &head.Time
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
	return cmd
}

type consumerReport struct {
	Name         string       `json:"name"`
	Operator     string       `json:"operator"`
	State        string       `json:"state"`
	Publisher    string       `json:"publisher,omitempty"`
	Epoch        uint64       `json:"epoch"`
	CheckpointID int64        `json:"checkpoint_id"`
	Published    *time.Time   `json:"published,omitempty"`
	Sinks        []sinkReport `json:"sinks"`
}

type sinkReport struct {
	Name      string    `json:"name"`
	Epoch     uint64    `json:"epoch"`
	Behind    uint64    `json:"epochs_behind"`
	Committed time.Time `json:"committed"`
}

func printConsumers(cmd *cobra.Command, reports []consumerReport) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONSUMER\tOPERATOR\tSTATE\tEPOCH\tCHECKPOINT\tSINK\tCOMMITTED EPOCH\tBEHIND")
	for _, r := range reports {
		if len(r.Sinks) == 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t\t\t\n", r.Name, r.Operator, r.State, r.Epoch, r.CheckpointID)
		}
		for _, s := range r.Sinks {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\n", r.Name, r.Operator, r.State, r.Epoch, r.CheckpointID, s.Name, s.Epoch, s.Behind)
		}
	}
	return w.Flush()
}
