// Package build says what the running program was built from.
package build

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X echosieve/app/build.version=v1.2.3".
var version string

// Info says what this binary was built from.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the repository; "+changes" follows if the tree had uncommitted changes
	Time     string `json:"time"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Version returns the version alone.
func Version() string { return Read().Version }

// Read returns the facts that the linker and the Go tool chain have stored in the binary.
func Read() Info {
	info := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
