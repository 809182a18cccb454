// Command statebridge mirrors the state of a stream processor into lookup tables, and shows it to people.
//
// It holds commands and flags and builds the pipeline from the config; what is done is in the packages that it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/config"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or config
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line. Data goes to stdout, everything else to stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, syscall.EPIPE) { // the reader of our output has had enough
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	fmt.Fprintln(stderr, "statebridge:", err)
	if usage := new(usageError); errors.As(err, &usage) || errors.Is(err, checkpoint.ErrKeyType) {
		return exitUsage
	}
	if fault := new(config.FieldError); errors.As(err, &fault) {
		return exitUsage
	}
	return exitFailed
}

// usageError marks a command line that makes no sense.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "statebridge",
		Short: "Turn the snapshots of a stream processor into a live feed and exact lookup tables",
		Long: `Statebridge reads the checkpoints and savepoints that an Apache Flink job takes anyway, without a JVM and without touching the job. It shows what they hold,
works out what changed between two of them, publishes the changes on NATS JetStream, and keeps tables in Postgres, Redis and SQLite
equal to the newest one.

A SNAPSHOT is the path of a checkpoint or savepoint directory, or of the _metadata file in it, or its address as Flink has it: s3://bucket/checkpoints/…/chk-42.
Inspect, get, export and diff also take a KV snapshot of Apache Fluss, or its _METADATA.
How object stores are reached is told by flags --storage-… that every command has: see the reference.`,
		Example: `  statebridge demo
  statebridge inspect /flink/checkpoints/4f0c…/chk-42
  statebridge get /flink/checkpoints/4f0c…/chk-42 --operator accounts-op --state balance --key alice
  statebridge run --config statebridge.yaml`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDescriptions: true},
		RunE:              helpUnlessUnknown,
		Args:              cobra.ArbitraryArgs,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return fromEnvironment(cmd.Flags()) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; '%s --help' shows how it is used", plainly(err), cmd.CommandPath())
	})
	root.AddCommand(newInspect(), newCompat(), newGet(), newHistory(), newExport(), newDiff(), newInit(), newRun(), newDemo(), newConsumers(), newDeadLetters(), newVerify(), newConfig(), newVersion())
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE, completion.Args = helpUnlessUnknown, cobra.ArbitraryArgs
	}
	return root
}

// plainly says of a flag that takes a number what is wrong with it, rather than which function refused it.
func plainly(err error) error {
	if invalid := new(pflag.InvalidValueError); errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "int" {
		return fmt.Errorf("--%s %q: a whole number is expected", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err
}

// helpUnlessUnknown runs a command that does nothing but hold others.
func helpUnlessUnknown(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q; '%s --help' lists the commands", args[0], cmd.CommandPath())
	}
	return cmd.Help()
}

// fromEnvironment sets each flag that is not given from its variable: --path-map from STATEBRIDGE_PATH_MAP. An empty variable is as good as none.
func fromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "STATEBRIDGE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := os.Getenv(name)
		if f.Changed || value == "" || f.Name == "help" || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = usagef("%s: %w", name, plainly(e))
		}
	})
	return err
}

// exactly is cobra.ExactArgs with names, as a usage error.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usagef("%s takes %s, and %d were given; '%s --help' shows how it is used", cmd.Name(), argumentsText(names), len(args), cmd.CommandPath())
		}
		return nil
	}
}

func argumentsText(names []string) string {
	switch len(names) {
	case 0:
		return "no arguments"
	case 1:
		return "one argument, " + names[0]
	}
	return fmt.Sprintf("%d arguments, %s", len(names), strings.Join(names, " and "))
}
