package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/render"
	"github.com/statebridge/statebridge/state"
)

type getFlags struct {
	snapshotFlags
	selection
	output                 string
	key, namespace, mapKey string
}

func newGet() *cobra.Command {
	f := &getFlags{}
	cmd := &cobra.Command{
		Use:   "get SNAPSHOT --key KEY",
		Short: "Look up what a snapshot holds for one key",
		Long: `Get prints the rows of one key, in the form of export. It reads the key's own key group only, and of RocksDB's files the few blocks that
the key can be in.

KEY is text for a key of type String, a number for numbers, and JSON as export prints it for anything else. A state of another key type than the first is
left out unless it is named. Exit code 1 when there is no such row.`,
		Example: `  statebridge get chk-42 --operator accounts-op --state balance --key alice
  statebridge get chk-42 --state purchases --key 17 --map-key sku-4
  statebridge get chk-42 --state windows --key alice --namespace '{"start":0,"end":60000}'`,
		Args: exactly("SNAPSHOT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("key") {
				return usagef("--key is required")
			}
			return f.run(cmd, args[0])
		},
	}
	f.snapshotFlags.register(cmd)
	f.registerSchema(cmd)
	f.selection.register(cmd)
	f.selection.registerColumns(cmd)
	f.registerKey(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "jsonl", "`FORMAT`: jsonl, json, csv, parquet or table")
	return cmd
}

func (f *getFlags) registerKey(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.key, "key", "", "the `KEY` to look up")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "only this `NAMESPACE`, as export prints it")
	cmd.Flags().StringVar(&f.mapKey, "map-key", "", "only this entry of a map state")
}

func (f *getFlags) run(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	format, err := render.ParseFormat(f.output)
	if err != nil {
		return &usageError{err}
	}
	if f.names, err = f.rowNames(); err != nil {
		return err
	}
	snap, err := f.open(ctx, location)
	if err != nil {
		return err
	}
	defer snap.Close()
	f.timers = true
	tables, err := f.tables(ctx, snap)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	found, err := f.print(ctx, tables, cmd.Flags().Changed, format, out)
	if err = flushed(out, err); err != nil {
		return err
	}
	if !found {
		if err := f.warn(snap, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if len(tables) == 0 {
			return fmt.Errorf("no state to look for the key %s in", f.key)
		}
		return fmt.Errorf("no row has the %s in %s", f.wanted(cmd.Flags().Changed), strings.Join(names(tables), ", "))
	}
	return nil
}

func (f *getFlags) print(ctx context.Context, tables []*checkpoint.Table, given func(string) bool, format render.Format, out io.Writer) (found bool, err error) {
	w, err := render.New(format, out, genericColumns, renderOptions())
	if err != nil {
		return false, err
	}
	err = f.each(ctx, tables, given, func(_ *checkpoint.Table, l *liner, row *state.Row) error {
		found = true
		return w.Write(l.row(row))
	})
	if err != nil {
		return false, err
	}
	return found, w.Close()
}

// each looks the key up in the tables that can have it.
func (f *getFlags) each(ctx context.Context, tables []*checkpoint.Table, given func(string) bool, do func(*checkpoint.Table, *liner, *state.Row) error) error {
	named := f.operator != "" && f.state != ""
	for _, t := range tables {
		key, err := f.keyOf(t, given)
		if err != nil {
			if named || len(tables) == 1 {
				return err
			}
			continue
		}
		l := newLiner(t)
		for row, err := range t.Lookup(ctx, key) {
			if err != nil {
				if named || len(tables) == 1 || !errors.Is(err, checkpoint.ErrKeyType) {
					return err
				}
				break
			}
			if err := do(t, l, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyOf reads the flags by the types of a table; an error says that it lacks what was asked for.
func (f *getFlags) keyOf(t *checkpoint.Table, given func(string) bool) (k checkpoint.Key, err error) {
	s := t.Schema()
	if s.Key == nil {
		return k, usagef("state %q is operator state, which has no keys", t.Name)
	}
	k.Key = jsonOf(f.key, s.Key.Type())
	if given("namespace") {
		if s.Namespace == nil {
			return k, usagef("state %q has no namespaces", t.Name)
		}
		k.Namespace = jsonOf(f.namespace, s.Namespace.Type())
	}
	if given("map-key") {
		if s.MapKey == nil {
			return k, usagef("state %q is no map state", t.Name)
		}
		k.MapKey = jsonOf(f.mapKey, s.MapKey.Type())
	}
	return k, nil
}

// wanted names all that a row must have, for a message.
func (f *getFlags) wanted(given func(string) bool) string {
	text := "key " + f.key
	if given("namespace") {
		text += ", the namespace " + f.namespace
	}
	if given("map-key") {
		text += ", the map key " + f.mapKey
	}
	return text
}

// names lists tables for a message, each name once.
func names(tables []*checkpoint.Table) (out []string) {
	for _, t := range tables {
		if !slices.Contains(out, t.Name) {
			out = append(out, t.Name)
		}
	}
	return out
}
