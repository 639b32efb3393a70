package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/sample"
	"echosieve/stories"
	"echosieve/test/commandtest"
)

// asCommand makes the test program run the command, so that a test can kill it.
const asCommand = "ECHOSIEVE_TEST_AS_FILTER"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main(commandtest.Only(Command())))
	}
	os.Exit(m.Run())
}

// The Python package starts the command, and its tests pass. TestRelease runs them on the wheel.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("make check needs no Python")
	}
	bin := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(bin, "echosieve")))
	cmd := exec.CommandContext(t.Context(), "python3", "-B", "-m", "unittest", "test_echosieve")
	cmd.Dir = "../../../../deploy/python"
	cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Later runs know the articles of earlier ones, in whatever file they come.
func TestState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new", "state")
	today := commandtest.File(t, "today.jsonl", line("a", harbour)+line("b", barley))
	out, errOut := filtered(t, commandtest.Any, "", "--state", state, today)
	require.Equal(t, []string{"a unique unique", "b unique unique"}, verdicts(out), errOut)
	require.NoError(t, os.WriteFile(today, []byte(line("b", barley)+line("c", "RIVERTON (Press) - "+harbour)+
		line("d", "Other "+barley)), 0o600))
	out, _ = filtered(t, commandtest.Any, "", "--state", state, today)
	require.Equal(t, []string{"b exact duplicate b", "c near duplicate a", "d near duplicate b"}, verdicts(out))
	require.Contains(t, out, `"original":{"id":"b","record":"`+today+`/1/2"}`)
	require.Contains(t, out, `"record":"`+today+`/2/3"}}`)
	out, _ = filtered(t, commandtest.Any, line("a", harbour), "--state", state)
	require.Equal(t, []string{"a exact duplicate a"}, verdicts(out))
	commandtest.WrongUsage(t, commandtest.Only(Command()),
		"was made with window 168h0m0s, and this run has 24h0m0s", "filter", "--window", "24h", "--state", state)
}

// A run that was cut off is repeated under any name of its file: no article becomes a copy of itself.
func TestOtherNames(t *testing.T) {
	dir := t.TempDir()
	all := ""
	for n := range 30 {
		all += line(fmt.Sprint(n), fmt.Sprintf("%d %s %d", n, []string{harbour, barley}[n%2], n))
	}
	path := commandtest.FileIn(t, dir, "today.jsonl", all)
	link, moved := filepath.Join(dir, "link"), filepath.Join(dir, "moved.jsonl")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, os.WriteFile(moved, []byte(all), 0o600))
	want, _ := filtered(t, commandtest.Any, all)
	for _, again := range []string{path, dir + "/../" + filepath.Base(dir) + "/today.jsonl", link, moved, "-"} {
		state := filepath.Join(t.TempDir(), "state")
		in, out, err := os.Pipe()
		require.NoError(t, err)
		in.Close() // as behind head
		require.Equal(t, command.ExitOK, command.Execute(t.Context(), commandtest.Only(Command()),
			[]string{"filter", "--state", state, path}, strings.NewReader(""), out, io.Discard))
		out.Close()
		got, errOut := filtered(t, commandtest.Any, all, "--state", state, again)
		require.Equal(t, verdicts(want), verdicts(got), again)
		require.NotContains(t, errOut, "decided in an earlier run")
		got, errOut = filtered(t, commandtest.Any, all, "--state", state, again)
		require.Equal(t, 30, strings.Count(got, `"exact"`), "after a whole run all are copies")
		require.Contains(t, errOut, "decided in an earlier run, as "+path+"/1")
	}
}

// A process is killed while it waits for more input. The next one gives the lines that were written the same
// verdicts, and the others those that they would have had. Meanwhile nobody else gets the folder.
func TestKilled(t *testing.T) {
	var lines []string
	for n := range 40 {
		text := fmt.Sprintf("Report %d. %s", n-n%3, []string{harbour, barley}[n/3%2])
		lines = append(lines, line(fmt.Sprint(n), text))
	}
	all := strings.Join(lines, "")
	want, _ := filtered(t, commandtest.Any, all, "--state", filepath.Join(t.TempDir(), "undisturbed"))

	state := filepath.Join(t.TempDir(), "state")
	cmd, in, printed := commandtest.Start(t, asCommand+"=1", "filter", "--state", state)
	_, err := io.WriteString(in, strings.Join(lines[:25], ""))
	require.NoError(t, err)
	written := ""
	for range 25 {
		l, err := printed.ReadString('\n')
		require.NoError(t, err)
		written += l
	}
	require.True(t, strings.HasPrefix(want, written))
	_, errOut := filtered(t, command.ExitFailed, all, "--state", state)
	require.Contains(t, errOut, "another process has the folder "+state+": wait for its end, or name another folder")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	// another file does not end the run
	got, errOut := filtered(t, commandtest.Any, lines[0], "--state", state, commandtest.File(t, "x", lines[1]))
	require.Contains(t, got, "exact", errOut)
	require.Contains(t, errOut, "1 exact copy of articles of stdin, a run that was interrupted: they may be in no output")
	got, errOut = filtered(t, commandtest.Any, all, "--state", state)
	require.Equal(t, want, got, errOut)
	require.NotContains(t, errOut, "interrupted")
}

// storiesOf runs filter on a file and returns its stories, all of which fit the schema.
func storiesOf(t *testing.T, in string, args ...string) (all []stories.Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stories.jsonl")
	filtered(t, commandtest.Any, in, append([]string{"--stories", path}, args...)...)
	schema, err := jsonschema.NewCompiler().Compile("../../../../docs/stories.schema.json")
	require.NoError(t, err)
	for line := range strings.Lines(commandtest.Read(t, path)) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value))
		var r stories.Record
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&r))
		all = append(all, r)
	}
	return all
}

func TestStories(t *testing.T) {
	more := ` It adds a second paragraph.","source":"Post","published":true,"date":"2026-01-03"`
	in := line("lonely", barley, `,"date":"2025-12-30"`) +
		line("a", harbour, `,"source":"Post","title":"A bridge","date":"2026-01-01"`) + "{\n" + `{"id":"null"}` + "\n" +
		line("b", harbour, `,"title":"A bridge","url":"https://www.b.example/1","date":"2026-01-02T10:00:00Z"`) +
		`{"id":"a","text":"` + harbour + more + "}\n" +
		line("c", harbour, `,"source":"b.example","title":"A bridge","date":"2025-12-31"`)
	all := storiesOf(t, in)
	require.Len(t, all, 1, "an article without copies is no story")
	r := all[0]
	require.Equal(t, []string{"a", "stdin/0/2", "A bridge"}, []string{r.Root.ID, r.Root.Coordinates, r.Root.Title})
	require.Equal(t, []int{3, 2, 1, 2, 1}, []int{r.Copies, r.Exact, r.Near, r.Publishers, r.Versions})
	require.Equal(t, []string{"b.example", "c", "root"}, []string{r.ByPublisher[0].Name, r.ByPublisher[0].ID,
		r.ByPublisher[1].Relation}, "the one that was first, not the one that came first")
	require.Equal(t, "2025-12-31T00:00:00Z", r.FirstTime.Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, stories.First{Publisher: "b.example", ID: "c", Coordinates: "stdin/0/7", Time: r.FirstTime}, r.First)
	require.Equal(t, stories.Best{ID: "a", Coordinates: "stdin/0/6", Publisher: "Post", Why: "longest"}, r.Best)
	require.Equal(t, stories.Open, r.State)

	owners := commandtest.File(t, "owners", "b.example=Chain\nPost=Chain\n")
	require.Equal(t, 1, storiesOf(t, in+line("odd", "Ferries stop at noon", `,"date":"2 hours ago"`), "--owners",
		owners)[0].Publishers)
	require.Equal(t, stories.Ended, storiesOf(t, in+line("late", "Beetles in the forest",
		`,"date":"2026-02-01"`))[0].State)
}

// The sample holds its own truth: copy_of names the root of each copy, or another copy of it.
func TestStoriesOfTheSample(t *testing.T) {
	all, sum := storiesOf(t, string(sample.News)), 0
	for i, r := range all {
		sum += r.Copies
		require.Equal(t, r.Root.ID, r.ByPublisher[0].ID, "the lines have no time: the root is first")
		require.True(t, i == 0 || r.Copies <= all[i-1].Copies, "the largest first")
	}
	require.Equal(t, bytes.Count(sample.News, []byte(`"copy_of"`)), sum)
}
