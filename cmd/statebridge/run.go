package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
)

type runFlags struct {
	configFlags
	once     bool
	patience time.Duration
	memory   config.Size
	accept   []string
	keep     []string
}

// configFlags are those of every command that reads the config.
type configFlags struct {
	file      string
	dataDir   string
	logLevel  string
	logFormat string
}

func (f *configFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "config", "c", "", "config `FILE`, or - for standard input (also STATEBRIDGE_CONFIG)")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "`DIR` for the embedded server, pins and temporary files (default ./statebridge-data)")
	cmd.Flags().StringVar(&f.logLevel, "log-level", "", "`LEVEL`: debug, info, warn or error")
	cmd.Flags().StringVar(&f.logFormat, "log-format", "", "`FORMAT`: text or json")
	registerStorage(cmd.Flags())
}

func (f *configFlags) load(cmd *cobra.Command) (*config.Config, error) {
	overrides := storageOverrides(cmd.Flags())
	for flag, path := range map[string]string{"data-dir": "data_dir", "log-level": "log.level", "log-format": "log.format", "memory": "memory", "role": "role"} {
		if cmd.Flags().Changed(flag) {
			overrides[path] = cmd.Flags().Lookup(flag).Value.String()
		}
	}
	file := f.file
	if file == "" {
		file = os.Getenv("STATEBRIDGE_CONFIG")
	}
	c, err := config.Load(file, os.LookupEnv, overrides)
	if err != nil && file == "" {
		err = fmt.Errorf("without --config, everything has to come from the environment: %w", err)
	}
	if err == nil {
		err = checkHints(c)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

func newRun() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Follow a job's snapshots and keep the sinks equal to the newest one",
		Long: `Run watches a job's checkpoint directory. It publishes each consumer's rows once in full and then, snapshot by snapshot, what changed, and
its sinks apply that, one checkpoint at a time. A target that is down is tried again and again. It can be stopped or killed at any point and goes on where it was.

A step that would delete most of a consumer's rows, or a snapshot without its state, holds that consumer until somebody has said what is meant: see
statebridge consumers accept --help. The others go on.

With --once it handles what is there, waits until all sinks have committed it, and exits: for cron and tests. It fails when a consumer is held.`,
		Example: `  statebridge run --config statebridge.yaml
  DATABASE_URL=postgres://localhost/bank statebridge run --config statebridge.yaml --once`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkPatience(cmd.Flags().Changed("patience")); err != nil {
				return err
			}
			c, err := f.load(cmd)
			if err != nil {
				return err
			}
			if c.Role == config.RoleApply && (f.once || len(f.accept)+len(f.keep) > 0) {
				return usagef("--once, --accept and --keep are for a process that publishes, and the role is apply")
			}
			answers, err := f.answers(c)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, answers, newLogger(c.Log, cmd.ErrOrStderr()))
		},
	}
	f.configFlags.register(cmd)
	registerMemory(cmd.Flags(), &f.memory)
	cmd.Flags().String("role", "", "`ROLE`: publish, apply, or all, the default: what this process does of both, over one NATS server")
	cmd.Flags().BoolVar(&f.once, "once", false, "handle what is there, wait for all sinks, and exit")
	cmd.Flags().StringSliceVar(&f.accept, "accept", nil, "`CONSUMER[:CHECKPOINT]` whose deletes in the snapshots at hand are right, however many they are; may be repeated")
	cmd.Flags().StringSliceVar(&f.keep, "keep", nil, "`CONSUMER[:CHECKPOINT]` whose rows stay if the snapshots at hand would delete too many; may be repeated")
	cmd.Flags().DurationVar(&f.patience, "patience", time.Minute, "with --once: `HOW LONG` to wait without getting further, as for a target that fails, before the run does; 0 is for ever")
	return cmd
}

func (f *runFlags) checkPatience(given bool) error {
	if given && !f.once {
		return usagef("--patience says how long --once waits, and --once is not given")
	}
	if f.patience < 0 {
		return usagef("--patience %s: a time from 0 up is expected, and 0 is for ever", f.patience)
	}
	return nil
}

// answers gives what is answered before it is asked, by consumer.
func (f *runFlags) answers(c *config.Config) (map[string]*feed.Answer, error) {
	answers := map[string]*feed.Answer{}
	for answer, list := range map[string][]string{registry.Accept: f.accept, registry.Keep: f.keep} {
		for _, text := range list {
			name, checkpoint, err := parseAnswer(c, text)
			if err != nil {
				return nil, err
			}
			if answers[name] != nil {
				return nil, usagef("two answers are given for consumer %q", name)
			}
			answers[name] = &feed.Answer{Answer: answer, Checkpoint: checkpoint}
		}
	}
	return answers, nil
}

func (f *runFlags) run(ctx context.Context, c *config.Config, answers map[string]*feed.Answer, log *slog.Logger) (err error) {
	p, err := newPipeline(ctx, c, answers, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if f.once {
		return p.once(ctx, f.patience)
	}
	return p.run(ctx)
}

func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the config has been validated
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration { // JSON would have nanoseconds without a unit
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
