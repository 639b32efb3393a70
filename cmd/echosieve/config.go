package main

import (
	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration or a reference of all settings",
	}
	cmd.AddCommand(newConfigPrintCommand(), newConfigReferenceCommand())
	return cmd
}

func newConfigPrintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the effective configuration as YAML; secrets show as (set)",
		Example: `  echosieve config print --config echosieve.yaml --sources
  ECHOSIEVE_KAFKA_BROKERS=kafka:9092 echosieve config print`,
		Args: command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	sources := cmd.Flags().Bool("sources", false, "say where each value comes from")
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, origins, err := config.LoadOrigins(cmd.Flags())
		if err != nil {
			return err
		}
		if !*sources {
			origins = nil
		}
		values, err := config.Schema().Values(&cfg)
		if err != nil {
			return err
		}
		return command.Print(cmd, *asJSON, struct {
			Config  map[string]any `json:"config"`
			Sources schema.Origins `json:"sources,omitempty"`
		}{values, origins}, func() string { return string(config.Schema().Print(&cfg, origins)) })
	}
	return cmd
}

func newConfigReferenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "reference",
		Short:   "Print a YAML file with every setting, its default and what it does",
		Example: `  echosieve config reference > echosieve.yaml`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Reference())
			return err
		},
	}
}
