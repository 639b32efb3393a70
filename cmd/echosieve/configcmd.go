package main

import (
	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve/internal/config"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Print the configuration or a reference of all settings",
		GroupID: groupService,
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
		Args: noArgs,
	}
	asJSON := addJSONFlag(cmd)
	sources := cmd.Flags().Bool("sources", false, "say where each value comes from")
	addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, origins, err := loadConfigOrigins(cmd)
		if err != nil {
			return err
		}
		if !*sources {
			origins = nil
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), struct {
				Config  map[string]any `json:"config"`
				Sources config.Origins `json:"sources,omitempty"`
			}{schema().Values(&cfg), origins})
		}
		_, err = cmd.OutOrStdout().Write(schema().Print(&cfg, origins))
		return err
	}
	return cmd
}

func newConfigReferenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "reference",
		Short:   "Print a YAML file with every setting, its default and what it does",
		Example: `  echosieve config reference > echosieve.yaml`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(referenceYAML())
			return err
		},
	}
}

const referenceHead = `# All settings of Echosieve with their defaults. Keep what you change, delete the rest.
# A setting can also come from the environment (the name at the end of the line above it) or from a flag
# (--kafka.brokers); later sources win: this file < environment < flags. Lists in the environment are
# separated by commas. Durations: 168h, 30s, 250ms. Sizes: bytes or with a unit of 1024, 64MiB.
`

// referenceYAML is what deploy/echosieve.reference.yaml holds.
func referenceYAML() []byte { return append([]byte(referenceHead), schema().Reference()...) }
