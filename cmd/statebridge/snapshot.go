package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/state"
)

// snapshotFlags are those of every command that opens a snapshot.
type snapshotFlags struct {
	pathMap []string
	tempDir string
	decode  []string
	schema  string
	flags   *pflag.FlagSet
	memory  config.Size

	store    storage.Store     // of the flags for storage, once read
	requests int               // likewise
	limits   *limits           // of memory, once shared out
	hints    *state.Hints      // of decode, once read
	table    *state.FlussTable // of schema, once read
	names    []checkpoint.RowNames
}

func (f *snapshotFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pathMap, "path-map", nil, "`FROM=TO`: look below TO for files that the snapshot names below FROM; may be repeated")
	flags.StringVar(&f.tempDir, "temp-dir", "", "`DIR` for sorting what does not fit memory (default: the system's)")
	registerMemory(flags, &f.memory)
	flags.StringArrayVar(&f.decode, "decode", nil, decodeUsage)
	registerStorage(flags)
	f.flags = flags
	cmd.PostRun = func(cmd *cobra.Command, _ []string) { warnUnmet(f.hints, cmd.ErrOrStderr()) }
}

// registerSchema is for the commands that read Fluss tables too.
func (f *snapshotFlags) registerSchema(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.schema, "schema", "", "`FILE` with the columns and keys of the table, for a KV snapshot of Fluss")
}

func (f *snapshotFlags) options() (checkpoint.Options, error) {
	maps, err := parsePathMaps(f.pathMap)
	if err != nil {
		return checkpoint.Options{}, err
	}
	if f.hints == nil {
		if f.hints, err = readHints(f.decode); err != nil {
			return checkpoint.Options{}, usagef("--decode %w", err)
		}
	}
	if f.store == nil {
		c, err := loadStorage(f.flags)
		if err != nil {
			return checkpoint.Options{}, err
		}
		if f.store, err = openStore(c); err != nil {
			return checkpoint.Options{}, err
		}
		f.requests = c.Requests
	}
	if f.table == nil && f.schema != "" {
		if f.table, err = readFlussTable(f.schema); err != nil {
			return checkpoint.Options{}, &usageError{err}
		}
	}
	if f.limits == nil {
		if f.memory < minMemory {
			return checkpoint.Options{}, usagef("--memory %s: at least %s is needed", f.memory, minMemory)
		}
		l := readingLimits(f.memory)
		f.limits = &l
	}
	o := f.limits.options()
	o.Reading.Requests = f.requests
	o.Store, o.PathMap, o.TempDir, o.Hints, o.Names, o.Table = f.store, maps, f.tempDir, f.hints, f.names, f.table
	return o, nil
}

func readFlussTable(file string) (*state.FlussTable, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--schema: %w", err)
	}
	return state.ParseFlussTable(file, b)
}

func parsePathMaps(list []string) ([]checkpoint.PathMap, error) {
	var maps []checkpoint.PathMap
	for _, text := range list {
		from, to, ok := strings.Cut(text, "=")
		if !ok || from == "" || to == "" {
			return nil, usagef("--path-map %q: FROM=TO is expected", text)
		}
		maps = append(maps, checkpoint.PathMap{From: from, To: to})
	}
	return maps, nil
}

func (f *snapshotFlags) open(ctx context.Context, location string) (*checkpoint.Snapshot, error) {
	if location == "" {
		return nil, usagef("the address of the snapshot is empty")
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	return checkpoint.Open(ctx, location, o)
}

// selection says which tables of a snapshot are meant.
type selection struct {
	operator, state string
	timers          bool // also when not named
	columns         []string
}

func (s *selection) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.operator, "operator", "", "uid, name or id of the `OPERATOR` (default: all)")
	cmd.Flags().StringVar(&s.state, "state", "", "name of the `STATE` (default: all)")
}

// check refuses flags that are given and empty, as an unset variable of a shell makes them: they would mean everything.
func (s *selection) check(flags *pflag.FlagSet, more ...string) error {
	for _, name := range append([]string{"operator", "state"}, more...) {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty", name)
		}
	}
	return nil
}

func (s *selection) registerColumns(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&s.columns, "columns", nil, "`NAMES` a,b,c of the fields of the SQL row that --state holds, all of them in order: of its value, or of its map key when the value is no row")
}

// rowNames gives what --columns says.
func (s *selection) rowNames() ([]checkpoint.RowNames, error) {
	if len(s.columns) == 0 {
		return nil, nil
	}
	if s.state == "" {
		return nil, usagef("--columns needs --state, whose row it names")
	}
	return []checkpoint.RowNames{{Operator: s.operator, State: s.state, Fields: s.columns}}, nil
}

// tables gives what is meant, in the order of the snapshot.
func (s *selection) tables(ctx context.Context, snap *checkpoint.Snapshot) ([]*checkpoint.Table, error) {
	operators, err := s.operators(snap)
	if err != nil {
		return nil, err
	}
	checkpoint.Load(ctx, operators)
	var tables []*checkpoint.Table
	var have []string
	for _, o := range operators {
		all, err := o.Tables(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if !slices.Contains(have, t.Name) {
				have = append(have, t.Name)
			}
			if s.state == t.Name || s.state == "" && (s.timers || t.Kind != state.KindTimer) {
				tables = append(tables, t)
			}
		}
	}
	if s.state != "" && len(tables) == 0 {
		if len(operators) == 1 && operators[0].Finished {
			_, err := operators[0].Table(ctx, s.state)
			return nil, err // says so
		}
		return nil, &checkpoint.NotFoundError{What: "state", Name: s.state, In: snap.Location, Have: have}
	}
	return tables, nil
}

// operators gives those that are meant.
func (s *selection) operators(snap *checkpoint.Snapshot) ([]*checkpoint.Operator, error) {
	if s.operator == "" {
		return snap.Operators(), nil
	}
	o, err := snap.Operator(s.operator)
	if err != nil {
		return nil, err
	}
	return []*checkpoint.Operator{o}, nil
}

// parseKeyGroups reads "3" or "0-63".
func parseKeyGroups(text string) (checkpoint.KeyGroups, error) {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err := errors.Join(err1, err2); err != nil || first < 0 || last < first || last > 1<<15 {
		return checkpoint.KeyGroups{}, usagef("--key-groups %q: a number or a range such as 0-63 is expected", text)
	}
	return checkpoint.KeyGroups{First: first, Last: last}, nil
}

// jsonOf gives the JSON of a key as a person types it: JSON as it is, anything else as a string where the type has text.
func jsonOf(text string, t *state.Type) []byte {
	if textual(t) && !strings.HasPrefix(text, `"`) {
		return quote(text)
	}
	if t.Kind == state.Tuple && len(t.Fields) == 1 && !strings.HasPrefix(text, "[") { // the only column of a key
		return slices.Concat([]byte("["), jsonOf(text, t.Fields[0].Type), []byte("]"))
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		return quote(text)
	}
	return canonical(v)
}

// textual says whether values of the type are JSON strings.
func textual(t *state.Type) bool {
	switch t.Kind {
	case state.String, state.Char, state.Enum, state.UUID, state.Bytes, state.Decimal, state.BigInt,
		state.Date, state.Time, state.DateTime, state.Instant, state.GlobalWindow:
		return true
	}
	return false
}

func quote(text string) []byte { return canonical(text) }

func canonical(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of what was decoded from JSON
	return bytes.TrimSpace(b.Bytes())
}
