package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X echosieve/app/command.version=v1.2.3".
var version string

// Build says what a program was built from.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the repository; "+changes" follows if the tree had uncommitted changes
	Time     string `json:"time"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ThisBuild returns the facts that the linker and the Go tool chain have stored in the running program.
func ThisBuild() Build {
	info := Build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	settings := map[string]string{}
	if b, ok := debug.ReadBuildInfo(); ok {
		info.Version = cmp.Or(info.Version, b.Main.Version)
		for _, s := range b.Settings {
			settings[s.Key] = s.Value
		}
	}
	info.Version = cmp.Or(info.Version, "(devel)")
	info.Revision, info.Time = cmp.Or(settings["vcs.revision"], "unknown"), settings["vcs.time"]
	if settings["vcs.modified"] == "true" {
		info.Revision += "+changes"
	}
	return info
}

// Version returns the command that prints what the program was built from.
func Version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  NoArgs,
	}
	asJSON := AddJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return printVersion(cmd, *asJSON) }
	return cmd
}

// printVersion prints one line, for the command version and for the flag --version of the program. Cobra's
// own flag would print less.
func printVersion(cmd *cobra.Command, asJSON bool) error {
	b := ThisBuild()
	return Print(cmd, asJSON, b, func() string {
		return fmt.Sprintf("%s %s (%s, %s, %s)\n", cmd.Root().Name(), b.Version, b.Revision, b.Go, b.Platform)
	})
}
