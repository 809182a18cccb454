package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/state"
)

func newInit() *cobra.Command {
	f := &snapshotFlags{}
	cmd := &cobra.Command{
		Use:   "init SNAPSHOT",
		Short: "Print a ready config that mirrors every state of a snapshot",
		Long: `Init prints a config with a consumer for each state of the snapshot that can be mirrored, each with the columns that its table gets, and a SQLite
file as sink. What cannot be mirrored stands there as a comment with the reason.`,
		Example: `  statebridge init /flink/checkpoints/4f0c…/chk-42 > statebridge.yaml
  statebridge run --config statebridge.yaml`,
		Args: exactly("SNAPSHOT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			snap, err := f.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer snap.Close()
			if err := ofFlink(snap, "init", "run does not mirror Fluss tables yet; export and diff read them"); err != nil {
				return err
			}
			return writeConfig(cmd.Context(), snap, f.decode, cmd.OutOrStdout())
		},
	}
	f.register(cmd)
	return cmd
}

func writeConfig(ctx context.Context, snap *checkpoint.Snapshot, decode []string, out io.Writer) error {
	var b strings.Builder
	root, _ := storage.Split(snap.Location)
	if above, job := storage.Split(root); regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(job) {
		root = above
	}
	fmt.Fprintf(&b, "nats: {url: \"${NATS_URL:-}\"} # empty: a server inside the process\nsource:\n  name: job\n  flink: {checkpoints: %s%s}\nconsumers:\n", yamlText(root), decodeMember(decode))
	names, taken := []string{}, map[string]bool{}
	for _, o := range snap.Operators() {
		tables, err := o.Tables(ctx)
		if err != nil {
			fmt.Fprintf(&b, "  # %s\n", oneLine(err.Error()))
			continue
		}
		for _, t := range tables {
			if why := unmirrored(t); why != "" {
				fmt.Fprintf(&b, "  # operator %s, state %s: %s\n", oneLine(o.String()), oneLine(t.Name), why)
				continue
			}
			name := consumerName(t, taken)
			names = append(names, name)
			fmt.Fprintf(&b, "  - name: %s\n    operator: %s\n    state: %s\n%s", name, yamlText(operatorName(o)), yamlText(t.Name), columnsText(t))
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no state that can be mirrored", snap.Location)
	}
	fmt.Fprintf(&b, "sinks:\n  - name: local\n    consumers: [%s]\n    sqlite: {path: mirror.db}\n", strings.Join(names, ", "))
	fmt.Fprintf(&b, "  # - {name: pg, consumers: [%s], postgres: {url: \"${DATABASE_URL}\", schema: public}}\n", names[0])
	fmt.Fprintf(&b, "  # - {name: cache, consumers: [%s], redis: {url: \"${REDIS_URL}\"}}\n", names[0])
	_, err := io.WriteString(out, b.String())
	return err
}

// decodeMember gives the hints as a further member; "" without any.
func decodeMember(hints []string) string {
	if len(hints) == 0 {
		return ""
	}
	texts := make([]string, len(hints))
	for i, h := range hints {
		texts[i] = yamlText(h)
	}
	return ", decode: [" + strings.Join(texts, ", ") + "]"
}

// unmirrored says why a table has no consumer; "" if it can have one.
func unmirrored(t *checkpoint.Table) string {
	switch {
	case t.Kind == state.KindTimer:
		return "timers are mirrored only when you name them"
	case !t.Keyed():
		return "operator state has no keys and is not mirrored"
	case t.Schema().Key.Type().Kind == state.Raw:
		return "its key is not decoded: " + oneLine(t.Schema().Key.Type().Why)
	}
	return ""
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// consumerName makes a name of the state's, unlike those taken.
func consumerName(t *checkpoint.Table, taken map[string]bool) string {
	base := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(t.Name), "_"), "_")
	if base == "" || base[0] < 'a' {
		base = "state_" + base
	}
	name := base
	if taken[name] {
		name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(operatorName(t.Operator)), "_"), "_") + "_" + base
	}
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	taken[name] = true
	return name
}

func operatorName(o *checkpoint.Operator) string { return firstOf(o.UID, o.ID) }

// columnsText writes the columns of a table: as a comment those that it gets anyway. A key whose members may be null becomes one column, since a null can't stand
// in a primary key.
func columnsText(t *checkpoint.Table) string {
	comment, columns := "# ", state.DefaultColumns(t.Schema())
	if slices.ContainsFunc(columns, nullableKey) {
		comment = ""
		rest := slices.DeleteFunc(columns, func(c state.Column) bool { return c.Key && strings.HasPrefix(string(c.Path), "key.") })
		columns = append([]state.Column{{Name: "key", Path: "key"}}, rest...)
	}
	var parts []string
	for _, c := range columns {
		parts = append(parts, fmt.Sprintf("%s: %s", yamlText(c.Name), yamlText(string(c.Path))))
	}
	return "    " + comment + "columns: {" + oneLine(strings.Join(parts, ", ")) + "}\n"
}

func nullableKey(c state.Column) bool {
	return c.Key && strings.HasPrefix(string(c.Path), "key.") && c.Type.Nullable
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./:-]*[A-Za-z0-9_/]$|^[A-Za-z]$`)

// yamlText writes a scalar, quoted where it has to be.
func yamlText(s string) string {
	if plainYAML.MatchString(s) && !strings.Contains(s, ": ") {
		switch strings.ToLower(s) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		default:
			return s
		}
	}
	return strings.ReplaceAll(string(quote(s)), "$", "$$")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
