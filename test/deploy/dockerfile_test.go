package deploy_test

import (
	"debug/elf"
	"regexp"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
)

type instruction struct {
	name string
	args []string
}

// instructions returns the instructions of a Dockerfile, continuation lines joined.
func instructions(text string) []instruction {
	var list []instruction
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		list = append(list, instruction{fields[0], fields[1:]})
	}
	return list
}

// The image is pinned, holds nothing but the program, and runs as no root. make image-test builds and runs it.
func TestDockerfile(t *testing.T) {
	var images, users []string
	stages := map[string]bool{}
	var last []string
	for _, i := range instructions(host.Read(t, "deploy/Dockerfile")) {
		switch i.name {
		case "FROM":
			if last = i.args; !stages[last[0]] {
				images = append(images, last[0])
			}
			if len(i.args) == 3 {
				stages[i.args[2]] = true
			}
		case "USER":
			users = append(users, i.args[0])
		}
	}
	require.Len(t, images, 2)
	require.Regexp(t, pinned, images[0])
	require.Equal(t, "scratch", images[1], "nothing but the program and certificates")
	require.Equal(t, []string{"service"}, last, "built without --target")
	require.Len(t, users, 1)
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, users[0], "not root, and by number")
}

// requireStatic requires that a program needs no shared library.
func requireStatic(t *testing.T, path string) {
	t.Helper()
	program, err := elf.Open(path)
	require.NoError(t, err)
	libraries, err := program.ImportedLibraries()
	require.NoError(t, program.Close())
	require.NoError(t, err)
	require.Empty(t, libraries)
}

// The image is built with the Go version of the module.
func TestDockerfileVersions(t *testing.T) {
	goLine := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(host.Read(t, "go.mod"))
	require.NotNil(t, goLine)
	require.Contains(t, host.Read(t, "deploy/Dockerfile"), "FROM golang:"+goLine[1]+".")
}
