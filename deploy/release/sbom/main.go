// Command sbom prints the software bill of materials of a Go program, as CycloneDX JSON: the Go version and
// every module that is linked into it, as the program's build information names them. Two runs over the same
// program print the same bytes.
//
//	go run ./deploy/release/sbom NAME VERSION PROGRAM > NAME.cdx.json
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom NAME VERSION PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, name, version, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	subject := cdx.Component{BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: version}
	components := []cdx.Component{{
		BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	for _, m := range info.Deps {
		components = append(components, component(m))
	}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &subject, Properties: settings(info)}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
}

// component describes a module. A replaced module is described by what replaced it.
func component(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}} // the line of go.sum, not a hash of a file
	}
	return c
}

// settings are the facts about the build that change the program.
func settings(info *debug.BuildInfo) *[]cdx.Property {
	var all []cdx.Property
	for _, s := range info.Settings {
		if slices.Contains([]string{"CGO_ENABLED", "GOARCH", "GOOS", "vcs.revision", "vcs.time", "vcs.modified"},
			s.Key) {
			all = append(all, cdx.Property{Name: "go:" + s.Key, Value: s.Value})
		}
	}
	return &all
}
