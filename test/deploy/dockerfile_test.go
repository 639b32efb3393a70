package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/promserver"

	"github.com/stretchr/testify/require"
)

type instruction struct {
	name string
	args []string
}

// dockerfile returns the instructions of deploy/Dockerfile, continuation lines joined.
func dockerfile(t *testing.T) []instruction {
	t.Helper()
	var list []instruction
	text := strings.ReplaceAll(string(read(t, "deploy/Dockerfile")), "\\\n", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		list = append(list, instruction{fields[0], fields[1:]})
	}
	return list
}

func TestDockerfile(t *testing.T) {
	var images, users []string
	stages := map[string]bool{}
	entrypoint, static := false, false
	for _, i := range dockerfile(t) {
		switch i.name {
		case "FROM":
			images = append(images, i.args[0])
			if len(i.args) == 3 {
				stages[i.args[2]] = true
			}
		case "COPY":
			if from, ok := strings.CutPrefix(i.args[0], "--from="); ok {
				require.True(t, stages[from], "COPY from an unknown stage %s", from)
				continue
			}
			for _, source := range i.args[:len(i.args)-1] {
				found, err := filepath.Glob(filepath.Join(promserver.Root(t), source))
				require.NoError(t, err)
				require.NotEmpty(t, found, "COPY of a missing file %s", source)
			}
		case "RUN":
			if len(i.args) > 1 && i.args[1] == "build" {
				require.True(t, static, "an image from scratch has no C library: CGO_ENABLED=0 before go build")
				require.Contains(t, i.args, "-trimpath")
				require.DirExists(t, filepath.Join(promserver.Root(t), i.args[len(i.args)-1]))
			}
		case "ENV":
			static = static || slices.Contains(i.args, "CGO_ENABLED=0")
		case "USER":
			users = append(users, i.args[0])
		case "ENTRYPOINT":
			entrypoint = true
		}
	}
	require.Len(t, images, 2)
	require.Regexp(t, pinned, images[0])
	require.Equal(t, "scratch", images[1], "nothing but the program and certificates")
	require.True(t, entrypoint)
	require.Len(t, users, 1)
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, users[0], "not root, and by number")
}

// The image is built with the Go version of the module.
func TestDockerfileVersions(t *testing.T) {
	goLine := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(read(t, "go.mod")))
	require.NotNil(t, goLine)
	require.Contains(t, string(read(t, "deploy/Dockerfile")), "FROM golang:"+goLine[1]+".")
}
