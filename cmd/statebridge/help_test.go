package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command says what it does and shows how, and the reference has it with all its flags.
func TestHelp(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(b), "\n## ")[1:] {
		title, text, _ := strings.Cut(s, "\n")
		sections[title] = text
	}
	walk(newRoot(), func(cmd *cobra.Command) {
		if cmd.Parent().Name() == "completion" { // cobra's own
			return
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "statebridge ")
		if cmd.Short == "" || !strings.Contains(cmd.Example, "  "+cmd.CommandPath()) {
			t.Errorf("%s has no summary or no example of itself", name)
		}
		text, ok := sections[name]
		if !ok {
			t.Errorf("the reference has no section %q", name)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.HasPrefix(f.Name, "storage-") { // these are everywhere, and are told of once
				text = string(b)
			}
			if f.Name != "help" && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("the reference has no --%s in section %q", f.Name, name)
			}
		})
	})
}

// walk visits the commands that do something.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	if !cmd.HasSubCommands() {
		visit(cmd)
	}
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}
