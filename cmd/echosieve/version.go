package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

// buildInfo says what this binary was built from.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the repository, "+changes" behind it if the tree had any
	Time     string `json:"time"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildVersion is the version alone, for the log.
func buildVersion() string { return readBuildInfo().Version }

func readBuildInfo() buildInfo {
	info := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	changes := ""
	if b, ok := debug.ReadBuildInfo(); ok {
		info.Version = cmp.Or(info.Version, b.Main.Version)
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Revision = s.Value
			case "vcs.time":
				info.Time = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					changes = "+changes"
				}
			}
		}
	}
	info.Version = cmp.Or(info.Version, "(devel)")
	info.Revision = cmp.Or(info.Revision, "unknown") + changes
	return info
}

// registerBuildInfo adds echosieve_build_info, which is always 1.
func registerBuildInfo(reg prometheus.Registerer, recipeID string) {
	b := readBuildInfo()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "echosieve_build_info",
		Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "revision": b.Revision, "goversion": b.Go, "recipe": recipeID,
		},
	})
	gauge.Set(1)
	reg.MustRegister(gauge)
}

func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  noArgs,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := readBuildInfo()
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), b)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "echosieve %s (%s, %s, %s)\n", b.Version, b.Revision, b.Go, b.Platform)
		return err
	}
	return cmd
}
