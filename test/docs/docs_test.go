package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/kafkaserver"
	"echosieve/test/loopback"
	"echosieve/test/repo"
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

// printedCommands returns the commands of all pages by the command of their row, which can have several, and the commands that are
// only mentioned.
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
	loopback.SkipShort(t)
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
	root := repo.Root(t)
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
		require.Contains(t, repo.Read(t, "Makefile"), "\n"+words[1]+":", "a target")
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
	tests, name := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			tests[found[1]] = true
		}
		return err
	}))
	named := 0
	for _, page := range []string{"SECURITY.md", "docs/security.md"} {
		for _, found := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(repo.Read(t, page), -1) {
			require.True(t, tests[found[1]], "%s names %s, which is no test", page, found[1])
			named++
		}
	}
	require.Greater(t, named, 10)
}
