// Package docs runs the commands that README and the pages of docs print, and compares their outputs in kind.
// It holds tests only.
//
// The table of rows_test.go has a row for each command. A command without a row fails the test, and so does a
// row that no page has. To add a command: print it on its page, and add its row.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// rowOf returns the row of a printed command.
func rowOf(command string) (row, bool) {
	for _, r := range rows {
		start, shortened := strings.CutSuffix(r.command, " ...")
		if r.command == command || shortened && strings.HasPrefix(command, start) {
			return r, true
		}
	}
	return row{}, false
}

// mentioned matches a command that a sentence names, without arguments: "echosieve check". It needs no row;
// the program must have it.
var mentioned = regexp.MustCompile(`^(bin/)?echosieve(-lab)?( [a-z]+)+$`)

// printedCommands returns the commands of all pages by the command of their row, which can have several, and the
// commands that are only mentioned.
func printedCommands(t *testing.T) (found map[string][]string, names []string) {
	t.Helper()
	found = map[string][]string{}
	var without []string
	for _, page := range pages(t) {
		for _, command := range commandsOf(t, page) {
			switch r, ok := rowOf(command); {
			case ok:
				found[r.command] = append(found[r.command], command)
			case mentioned.MatchString(command):
				names = append(names, command)
			default:
				without = append(without, page+": "+command)
			}
		}
	}
	require.Empty(t, without, "these printed commands have no row in rows_test.go:\n%s", strings.Join(without, "\n"))
	slices.Sort(names)
	return found, slices.Compact(names)
}

// Every printed command has a row, and every row is printed. A row runs its command, or says why it does not.
func TestEveryCommandHasItsRow(t *testing.T) {
	printed, _ := printedCommands(t)
	require.Greater(t, len(printed), 40)
	for _, r := range rows {
		require.Contains(t, printed, r.command, "no page prints this command")
		require.True(t, (r.parsed == "") == (r.want != nil || r.until != ""), r.command)
	}
}

func TestCommands(t *testing.T) {
	host.SkipShort(t)
	printed, names := printedCommands(t)
	w := newWorkspace(t)
	for _, r := range rows {
		t.Run(r.command, func(t *testing.T) {
			if r.parsed == "" {
				w.run(t, printed[r.command][0], r)
				return
			}
			for _, command := range printed[r.command] {
				w.parse(t, command)
			}
		})
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { w.parse(t, name) })
	}
}

// parse checks the words of a command that is not run: it is one for the shell; a target, a package, a test,
// a benchmark and a file of the repository exist; and our programs know the flags.
func (w *workspace) parse(t *testing.T, command string) {
	root := host.Root(t)
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = w.dir, w.environ // a command may write a file
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %q\n%s", name, args, out)
		return string(out)
	}
	run("bash", "-n", "-c", command)
	words := strings.Fields(strings.ReplaceAll(assigned.ReplaceAllString(command, ""), "'", ""))
	switch program := programOf(command); program {
	case "echosieve", "echosieve-lab":
		run("bash", "-c", strings.TrimPrefix(command, "bin/")+" --help")
	case "make":
		require.Contains(t, host.Read(t, "Makefile"), "\n"+words[1]+":", "a target")
	case "go":
		w.parseGo(t, root, words)
	}
	for i, word := range words {
		if word == "-f" || word == "-k" {
			_, err := os.Stat(filepath.Join(root, words[i+1]))
			require.NoError(t, err)
		}
	}
}

// parseGo checks go run and go test.
func (w *workspace) parseGo(t *testing.T, root string, words []string) {
	var sources []byte
	dir := filepath.Join(root, strings.TrimSuffix(words[2], "/..."))
	require.DirExists(t, dir)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			data, readErr := os.ReadFile(path)
			sources, err = append(sources, data...), readErr
		}
		return err
	})
	require.NoError(t, err)
	for i, word := range words {
		switch {
		case words[1] == "test" && slices.Contains([]string{"-run", "-bench"}, word) && words[i+1] != "NONE":
			require.Regexp(t, `\nfunc (Test|Benchmark)\w*(`+words[i+1]+`)`, string(sources))
		case words[1] == "run" && strings.HasPrefix(word, "--") && word != "--help":
			require.Regexp(t, regexp.QuoteMeta(`"`+word[2:]+`"`), string(sources), "a flag")
		}
	}
}

// A promise that names its test has one: a test of that name exists somewhere in the project.
func TestPromisesHaveTheirTests(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "git", "grep", "-hoP", `^func \KTest\w+(?=\()`, "--", "*_test.go")
	cmd.Dir = host.Root(t)
	tests, err := cmd.Output()
	require.NoError(t, err)
	named := 0
	for _, page := range []string{"SECURITY.md", "docs/security.md"} {
		for _, found := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(host.Read(t, page), -1) {
			require.Contains(t, strings.Fields(string(tests)), found[1], page)
			named++
		}
	}
	require.Greater(t, named, 10)
}

// columns is the width of prose in Markdown; README has readmeColumns.
const (
	columns       = 120
	readmeColumns = 110
)

// Lines of prose fit the width. Tables, pictures and commands may be wider.
func TestLinesAreNotTooLong(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.md")
	cmd.Dir = host.Root(t)
	files, err := cmd.Output()
	require.NoError(t, err)
	for _, page := range strings.Fields(string(files)) {
		most, fenced := columns, false
		if strings.HasPrefix(page, "README") {
			most = readmeColumns
		}
		for line := range strings.Lines(host.Read(t, page)) {
			line = strings.TrimSuffix(line, "\n")
			fenced = fenced != strings.HasPrefix(line, "```")
			if !fenced && !strings.Contains(line, "|") && !strings.HasPrefix(line, "    ") {
				wide := (len(line) + utf8.RuneCountInString(line)) / 2 // a Han character: three bytes, two columns
				assert.LessOrEqual(t, wide, most, "%s: wrap this line: %s", page, line)
			}
		}
	}
}

// README repeats figures that docs/detection.md owns: the recall, the false positives and the recall of plain SimHash.
func TestFiguresOfREADME(t *testing.T) {
	readme := host.Read(t, "README.md")
	rates := regexp.MustCompile(`1?\.\d+ / 1?\.\d+`)
	// Without intervals in brackets: "news  .988 (.983-.992) / .980 (.976-.984)  .010 / .008".
	detection := regexp.MustCompile(` \([^)\n]*\)`).ReplaceAllString(host.Read(t, "docs/detection.md"), "")
	measured := func(recipe string) []string {
		row := regexp.MustCompile(`(?m)^\W*` + recipe + `\W* .*$`).FindString(detection)
		require.NotEmpty(t, row, recipe)
		return rates.FindAllString(row, -1)
	}
	stated := rates.FindAllString(host.Between(t, readme, "\n## What it catches\n", "\n## "), -1)
	require.Len(t, stated, 3)
	require.Equal(t, measured("news")[:2], stated[:2])
	require.Equal(t, measured("classic-python-200")[0], stated[2])
}

var (
	// A rate or a pair of rates, such as .990 / .979.
	rate = regexp.MustCompile(`1?\.\d{2,3}( / 1?\.\d{2,3})?`)
	// A setting, or a header of an output, in backquotes.
	named = regexp.MustCompile(
		"`((?:kafka|redis|input|output|http|policy|detection|log|shadow)\\.[a-z_.]+|echosieve-[a-z-]+)[`:]")
	// The beginning of a section.
	section = regexp.MustCompile(`(?m)^##+ `)
)

// A page in Chinese says nothing that its page in English does not say: each of its commands, rates, settings
// and headers stands there. Those that are translated whole have as many sections, too, and the same
// commands.
func TestChinesePagesAgree(t *testing.T) {
	whole := map[string]bool{"README.zh-CN.md": true, "docs/zh/from-simhash.md": true}
	for _, page := range append(host.Files(t, "docs/zh/*.md"), "README.zh-CN.md") {
		original := strings.ReplaceAll(strings.ReplaceAll(page, "docs/zh/", "docs/"), ".zh-CN", "")
		zh, en := host.Read(t, page), host.Read(t, original)
		english := commandsOf(t, original)
		for _, command := range commandsOf(t, page) {
			assert.Contains(t, english, command, page)
		}
		for _, pattern := range []*regexp.Regexp{rate, named} {
			for _, found := range pattern.FindAllString(zh, -1) {
				assert.Contains(t, en, strings.TrimRight(found, "`:"), page)
			}
		}
		if whole[page] {
			assert.ElementsMatch(t, english, commandsOf(t, page), page)
			assert.Len(t, section.FindAllString(zh, -1), len(section.FindAllString(en, -1)), page)
		}
	}
}

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
	return append([]string{"README.md"}, host.Files(t, "docs/*.md")...)
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
