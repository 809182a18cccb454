package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/verify"
)

type verifyFlags struct {
	configFlags
	sinks, consumers []string
	output           string
	repair           bool
	wait             time.Duration
}

func newVerify() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [SNAPSHOT] --config FILE",
		Short: "Compare the sinks' tables with the snapshot they stand at, row by row",
		Long: `Verify reads the position of each table and compares its rows with those of that snapshot. It prints a line for each row that is missing, different or extra, and
exits with 1 if there is any, or if tables that a sink with atomic: source joins stand at several checkpoints. With --repair those rows, and no others, are put right, each table in one transaction that is refused if the target has moved meanwhile.

It can be used while run is going on: a table that moves while it is compared is compared again. With SNAPSHOT the tables must stand at that one.`,
		Example: `  statebridge verify --config statebridge.yaml
  statebridge verify --config statebridge.yaml --sink pg --consumer accounts --repair`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.wait < 0 {
				return usagef("--wait %s: a time from 0 up is expected", f.wait)
			}
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			return f.run(cmd, c, args)
		},
	}
	f.configFlags.register(cmd)
	cmd.Flags().StringSliceVar(&f.sinks, "sink", nil, "only the sink of this `NAME`; may be repeated")
	cmd.Flags().StringSliceVar(&f.consumers, "consumer", nil, "only the consumer of this `NAME`; may be repeated")
	cmd.Flags().StringVarP(&f.output, "output", "o", "jsonl", "`FORMAT`: jsonl or table")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "put the rows right that differ")
	cmd.Flags().DurationVar(&f.wait, "wait", 30*time.Second, "`HOW LONG` to try again when a table moves while it is compared, or is behind SNAPSHOT")
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, c *config.Config, args []string) (err error) {
	if f.output != "jsonl" && f.output != "table" {
		return usagef("--output %q: jsonl or table is expected", f.output)
	}
	log := newLogger(c.Log, cmd.ErrOrStderr())
	checks, done, err := f.checks(cmd.Context(), c, args, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	out := bufio.NewWriter(cmd.OutOrStdout())
	printer := differencePrinter{out: out}
	if f.output == "table" {
		printer.table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(printer.table, "SINK\tCONSUMER\tDIFFERENCE\tKEY\tCOLUMNS\tEXPECTED\tFOUND")
	}
	var errs []error
	for _, k := range checks {
		printer.sink, printer.consumer = k.sink, k.Consumer.Name
		result, err := k.Run(cmd.Context(), printer.print)
		if err != nil {
			errs = append(errs, fmt.Errorf("sink %s, consumer %s: %w", k.sink, k.Consumer.Name, err))
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, %s: checkpoint %d, epoch %d, %d rows: %s\n", k.sink, k.Consumer.Name, result.Snapshot.CheckpointID, result.Epoch, result.Rows, outcome(result))
		if left := result.Differences() - result.Mended; left > 0 {
			errs = append(errs, fmt.Errorf("sink %s, consumer %s: %d rows differ", k.sink, k.Consumer.Name, left))
		}
	}
	errs = append(errs, f.together(cmd.Context(), c, checks)...)
	if printer.table != nil {
		errs = append(errs, printer.table.Flush())
	}
	return flushed(out, errors.Join(errs...))
}

// together looks at the tables of each sink that joins them.
func (f *verifyFlags) together(ctx context.Context, c *config.Config, checks []check) (errs []error) {
	for _, s := range c.Sinks {
		var tables []sinks.Table
		var sink sinks.Sink
		for _, k := range checks {
			if s.Joins() && k.sink == s.Name {
				sink, tables = k.Sink, append(tables, sinks.Table{Source: k.Source, Consumer: k.Consumer.Name})
			}
		}
		if len(tables) < 2 {
			continue
		}
		if err := verify.Together(ctx, sink, tables, f.wait); err != nil {
			errs = append(errs, fmt.Errorf("sink %s: %w", s.Name, err))
		}
	}
	return errs
}

func outcome(r verify.Result) string {
	if r.Differences() == 0 {
		return "equal"
	}
	text := fmt.Sprintf("%d missing, %d different, %d extra", r.Missing, r.Different, r.Extra)
	if r.Mended > 0 {
		text += fmt.Sprintf("; %d put right", r.Mended)
	}
	return text
}

type check struct {
	*verify.Check
	sink string
}

// checks gives what is to be compared, and what to do in the end.
func (f *verifyFlags) checks(ctx context.Context, c *config.Config, args []string, log *slog.Logger) (checks []check, done func() error, err error) {
	var open []sinks.Sink
	done = func() error {
		var errs []error
		for _, s := range open {
			errs = append(errs, s.Close())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()
	snapshots, err := snapshotsOf(c, args)
	if err != nil {
		return nil, done, err
	}
	if err := f.checkNames(c); err != nil {
		return nil, done, err
	}
	if err := snapshots.Given(ctx); err != nil {
		return nil, done, err
	}
	for _, s := range c.Sinks {
		if len(f.sinks) > 0 && !slices.Contains(f.sinks, s.Name) {
			continue
		}
		target, err := openSink(ctx, s, log)
		if err != nil {
			return nil, done, fmt.Errorf("sink %s: %w", s.Name, err)
		}
		open = append(open, target)
		verifier, ok := target.(sinks.Verifier)
		if !ok {
			return nil, done, fmt.Errorf("sink %s can't be compared", s.Name)
		}
		for _, consumer := range c.Consumers {
			if !slices.Contains(s.Consumers, consumer.Name) || len(f.consumers) > 0 && !slices.Contains(f.consumers, consumer.Name) {
				continue
			}
			checks = append(checks, check{sink: s.Name, Check: &verify.Check{
				Sink: verifier, Source: c.Source.Name, Consumer: feedConsumer(consumer), Snapshots: snapshots,
				Repair: f.repair, Wait: f.wait, TempDir: tempDir(c), Log: log.With("sink", s.Name, "consumer", consumer.Name),
			}})
		}
	}
	if len(checks) == 0 {
		return nil, done, usagef("nothing to compare: no sink mirrors such a consumer")
	}
	return checks, done, nil
}

func (f *verifyFlags) checkNames(c *config.Config) error {
	for _, name := range f.sinks {
		if !slices.ContainsFunc(c.Sinks, func(s config.Sink) bool { return s.Name == name }) {
			return usagef("--sink %q: the config has no such sink", name)
		}
	}
	for _, name := range f.consumers {
		if !slices.ContainsFunc(c.Consumers, func(s config.Consumer) bool { return s.Name == name }) {
			return usagef("--consumer %q: the config has no such consumer", name)
		}
	}
	return nil
}

func snapshotsOf(c *config.Config, args []string) (*verify.Snapshots, error) {
	maps, err := parsePathMaps(c.Source.Flink.PathMap)
	if err != nil {
		return nil, err
	}
	hints, err := readHints(c.Source.Flink.Decode)
	if err != nil {
		return nil, &config.FieldError{Path: "source.flink.decode", Reason: err.Error()}
	}
	if err := os.MkdirAll(tempDir(c), 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	store, err := openStore(&c.Storage)
	if err != nil {
		return nil, err
	}
	limits := runningLimits(c.Memory)
	o := limits.options()
	o.Reading.Requests = c.Storage.Requests
	o.PathMap, o.TempDir, o.Hints = maps, tempDir(c), hints
	return &verify.Snapshots{
		Store: store, Options: o,
		TempDir: tempDir(c), Pins: filepath.Join(c.DataDir, "pins", c.Source.Name), Only: strings.Join(args, ""),
	}, nil
}

func quoteAll(names []string) []byte {
	b := []byte{'['}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(name)...)
	}
	return append(b, ']')
}

// differencePrinter prints differences as lines of JSON, or as a table.
type differencePrinter struct {
	out            *bufio.Writer
	table          *tabwriter.Writer // nil: JSON
	sink, consumer string
	buf            []byte
}

func (p *differencePrinter) print(d sinks.Difference) error {
	if p.table != nil {
		_, err := fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.sink, p.consumer, d.Kind, d.Key, strings.Join(d.Columns, ","), d.Want, d.Have)
		return err
	}
	b := append(append(p.buf[:0], `{"sink":`...), quote(p.sink)...)
	b = append(append(b, `,"consumer":`...), quote(p.consumer)...)
	b = append(append(b, `,"difference":`...), quote(d.Kind)...)
	b = append(append(b, `,"key":`...), d.Key...)
	if d.Columns != nil {
		b = append(append(b, `,"columns":`...), quoteAll(d.Columns)...)
	}
	if d.Want != nil {
		b = append(append(b, `,"expected":`...), d.Want...)
	}
	if d.Have != nil {
		b = append(append(b, `,"found":`...), d.Have...)
	}
	b = append(b, '}', '\n')
	p.buf = b
	_, err := p.out.Write(b)
	return err
}
