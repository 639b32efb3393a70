package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"echosieve/internal/config"
)

// usageTemplate is cobra's own, except that the settings of the configuration stand after a command's flags
// in a list of their own: a hundred settings would bury the two flags that one is looking for.
const usageTemplate = `Usage:{{if and .Runnable (not .HasAvailableSubCommands)}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}

{{if .Groups}}Others:{{else}}Commands:{{end}}{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{with ownFlags .}}

Flags:
{{.}}{{end}}{{with settingFlags .}}

Settings (also in the YAML file and as ECHOSIEVE_KAFKA_BROKERS and so on in the environment):
{{.}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more about a command.{{end}}
`

func init() {
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string { return flagUsages(cmd, false) })
	cobra.AddTemplateFunc("settingFlags", func(cmd *cobra.Command) string { return flagUsages(cmd, true) })
}

// flagUsages prints the flags that are settings, or those that are not.
func flagUsages(cmd *cobra.Command, settings bool) string {
	selected := pflag.NewFlagSet("", pflag.ContinueOnError)
	selected.SortFlags = !settings
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if config.Schema().HasFlag(f) == settings {
			selected.AddFlag(f)
		}
	})
	usages := selected.FlagUsagesWrapped(120)
	if usages == "" {
		return ""
	}
	return usages[:len(usages)-1]
}
