package deploy_test

import (
	"path/filepath"
	"regexp"
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
	entrypoint := false
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
				require.Contains(t, i.args, "-trimpath")
				require.DirExists(t, filepath.Join(promserver.Root(t), i.args[len(i.args)-1]))
			}
		case "USER":
			users = append(users, i.args[0])
		case "ENTRYPOINT":
			entrypoint = true
		}
	}
	require.Len(t, images, 2)
	for _, image := range images {
		require.Regexp(t, pinned, image)
	}
	require.True(t, entrypoint)
	require.Len(t, users, 1)
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, users[0], "not root, and by number")
}

// The image is built with the Go version of the module, and runs on the Debian release it was built on: the
// binary needs that release's glibc.
func TestDockerfileVersions(t *testing.T) {
	text := string(read(t, "deploy/Dockerfile"))
	goLine := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(read(t, "go.mod")))
	require.NotNil(t, goLine)
	require.Contains(t, text, "FROM golang:"+goLine[1]+".")

	codename := map[string]string{"bookworm": "12", "trixie": "13"}
	build := regexp.MustCompile(`FROM golang:[\d.]+-([a-z]+) `).FindStringSubmatch(text)
	require.NotNil(t, build)
	require.Contains(t, text, "FROM debian:"+codename[build[1]]+".")
}
