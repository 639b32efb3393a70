package docs

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
)

// programs are the programs whose commands pages print.
var programs = []string{
	"echosieve", "echosieve-lab", "make", "go", "docker", "helm", "kubectl", "kcat", "redis-cli", "apt-get", "editor",
	"systemctl", "journalctl",
	"sha256sum", "man", "kafka-acls.sh", "kafka-consumer-groups.sh", "kafka-transactions.sh", "kafka-configs.sh",
	"curl", "git", "zcat", "jq",
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	// assigned are variables before a command: "A=1 B=2 go test".
	assigned = regexp.MustCompile(`^([A-Z_]+=\S+ )+`)
	// commandLike is a line that looks like a command, of whatever program.
	commandLike = regexp.MustCompile(`^[a-z][\w./-]* (.* )?--?[a-z]`)
	comment     = regexp.MustCompile(`(^|\s)#\s.*$`)
)

// programOf returns the name of the program of a command line.
func programOf(line string) string {
	first, _, _ := strings.Cut(assigned.ReplaceAllString(line, ""), " ")
	return strings.TrimPrefix(first, "bin/")
}

func isCommand(line string) bool { return slices.Contains(programs, programOf(line)) }

// pages returns the paths of the pages, from the root of the repository: README first, as a reader goes.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(host.Root(t)), "docs/*.md")
	require.NoError(t, err)
	return append([]string{"README.md"}, found...)
}

// commandsOf returns the commands of a page in their order: of indented blocks, of blocks fenced as sh, and
// in backquotes if they have an argument. Comments are left out, and continued lines are joined.
func commandsOf(t *testing.T, page string) []string {
	t.Helper()
	var commands []string
	fence, continued := "", ""
	for line := range strings.Lines(host.Read(t, page)) {
		line = strings.TrimRight(line, "\n")
		if kind, ok := strings.CutPrefix(line, "```"); ok {
			fence = kind
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case fence != "" && fence != "sh":
			continue
		case fence == "sh":
			code = line
		case !indented && continued == "":
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				if isCommand(span[1]) && strings.Contains(span[1], " ") {
					commands = append(commands, span[1])
				}
			}
			continue
		}
		code = continued + strings.TrimSpace(comment.ReplaceAllString(code, ""))
		if rest, more := strings.CutSuffix(code, `\`); more {
			continued = rest
			continue
		}
		continued = ""
		switch {
		case isCommand(code):
			commands = append(commands, code)
		case fence == "sh" && code != "", commandLike.MatchString(code):
			require.Fail(t, "unknown program", "%s prints %q: add its program to programs", page, code)
		}
	}
	return commands
}

// shownAfter returns the lines of the indented blocks behind a command, up to the next text: what the page
// shows of its output. A line of dots stands for lines that are left out.
func shownAfter(t *testing.T, page, command string) []string {
	t.Helper()
	_, rest, found := strings.Cut(host.Read(t, page), "\n    "+command+"\n")
	require.True(t, found)
	var shown []string
	for line := range strings.Lines(rest) {
		code, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !indented && code != "" {
			break
		}
		if code != "" && code != "..." {
			shown = append(shown, code)
		}
	}
	return shown
}
