package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

type inspectFlags struct {
	snapshotFlags
	output string
	rows   string
}

// countBelow is the size of a snapshot in bytes up to which rows are counted without being asked.
const countBelow = 256 << 20

func newInspect() *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect SNAPSHOT [NEXT]",
		Short: "Show the operators and states of a snapshot",
		Long: `Inspect lists the operators of a snapshot with their key groups, and each state with its kind, types, size and number of rows. Counting rows reads the
state, so it is done unasked for snapshots of up to 256 MiB only. What cannot be read is listed with the reason. An operator of
Flink SQL is shown with its kind, and what its states hold.

With a second snapshot it compares the schemas of both, as compat does.`,
		Example: `  statebridge inspect /flink/checkpoints/4f0c…/chk-42
  statebridge inspect chk-42 --output json --rows none`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly("SNAPSHOT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				c := &compatFlags{snapshotFlags: f.snapshotFlags, output: f.output}
				err := c.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
				f.hints = c.hints
				return err
			}
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.snapshotFlags.register(cmd)
	f.registerSchema(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "`FORMAT`: table or json")
	cmd.Flags().StringVar(&f.rows, "rows", "auto", "`WHEN` to count rows: auto, exact or none")
	return cmd
}

func (f *inspectFlags) run(ctx context.Context, location string, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return usagef("--output %q: table or json is expected", f.output)
	}
	if f.rows != "auto" && f.rows != "exact" && f.rows != "none" {
		return usagef("--rows %q: auto, exact or none is expected", f.rows)
	}
	snap, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer snap.Close()
	report, err := describe(ctx, snap, f.rows)
	if err != nil {
		return err
	}
	damaged := slices.ContainsFunc(report.Operators, func(o operatorReport) bool { return o.damaged })
	if damaged {
		for _, err := range snap.Unresolved(ctx) {
			report.Unresolved = append(report.Unresolved, err.Error())
		}
	}
	if f.output == "json" {
		err = printJSON(out, report)
	} else {
		err = report.print(out)
	}
	if err == nil && damaged {
		return errors.New("parts of the snapshot are missing or damaged; they are named above")
	}
	return err
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
