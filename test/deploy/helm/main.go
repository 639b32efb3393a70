//go:build ignore

// Command helm prints the objects that Helm's own library makes of a chart, as `helm template` does: helm
// CHART [VALUES FILE].
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	log.SetFlags(0)
	if err := render(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func render(args []string) error {
	chart, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	if err := chart.Validate(); err != nil {
		return err
	}
	given := chartutil.Values{}
	if len(args) > 1 {
		if given, err = chartutil.ReadValuesFile(args[1]); err != nil {
			return err
		}
	}
	values, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "echosieve",
		Namespace: "echosieve", IsInstall: true}, nil)
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, values)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".yaml" && strings.TrimSpace(files[name]) != "" {
			fmt.Printf("---\n# %s\n%s\n", name, files[name])
		}
	}
	return nil
}
