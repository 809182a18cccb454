package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/statebridge/statebridge/config"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check a config, or print its JSON Schema",
		Example: "  statebridge config validate statebridge.yaml\n  statebridge config schema > statebridge.schema.json",
		RunE:    helpUnlessUnknown,
		Args:    cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newConfigSchema(), newConfigValidate())
	return cmd
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the config", Example: "  statebridge config schema > statebridge.schema.json", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
}

func newConfigValidate() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use: "validate FILE", Short: "Check a config and list every fault",
		Long:    "Validate reads the config as run does, environment included, and lists every fault with its path. Exit code 2 when there is one.",
		Example: "  statebridge config validate statebridge.yaml", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			if _, err := f.load(cmd); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.ErrOrStderr(), "the config is valid")
			return err
		},
	}
	f.register(cmd)
	return cmd
}
