package filter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/sample"
	"echosieve/stories"
)

// storiesOf runs filter on a file and returns its stories, all of which fit the schema.
func storiesOf(t *testing.T, in string, args ...string) (all []stories.Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stories.jsonl")
	code, _, errOut := filtered(t, in, append([]string{"--stories", path}, args...)...)
	require.NotEqual(t, command.ExitFailed, code, errOut)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	schema, err := jsonschema.NewCompiler().Compile("../../../../docs/stories.schema.json")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
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
		line("b", harbour, `,"url":"https://www.b.example/1","date":"2026-01-02T10:00:00Z"`) +
		`{"id":"a","text":"` + harbour + more + "}\n" +
		line("c", harbour, `,"source":"b.example","date":"2025-12-31"`)
	all := storiesOf(t, in)
	require.Len(t, all, 1, "an article without copies is no story")
	r := all[0]
	require.Equal(t, "a", r.Root.ID)
	require.Equal(t, "stdin/0/2", r.Root.Coordinates)
	require.Equal(t, "A bridge", r.Root.Title)
	require.Equal(t, []int{3, 2, 1, 2, 1}, []int{r.Copies, r.Exact, r.Near, r.Publishers, r.Versions})
	require.Equal(t, "b.example", r.ByPublisher[0].Name, "the one that was first, not the one that came first")
	require.Equal(t, "c", r.ByPublisher[0].ID)
	require.Equal(t, "root", r.ByPublisher[1].Relation)
	require.Equal(t, "2025-12-31T00:00:00Z", r.FirstTime.Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, stories.Best{ID: "a", Coordinates: "stdin/0/6", Publisher: "Post", Why: "longest"}, r.Best)
	require.Equal(t, stories.Open, r.State)

	owners := commandtest.File(t, "owners", "b.example=Chain\nPost=Chain\n")
	require.Equal(t, 1, storiesOf(t, in, "--owners", owners)[0].Publishers)
	require.Equal(t, stories.Ended, storiesOf(t, in+line("late", "Beetles in the forest", `,"date":"2026-02-01"`))[0].State)
}

// The sample holds its own truth: copy_of names the root of each copy, or another copy of it.
func TestStoriesOfTheSample(t *testing.T) {
	copies, in := 0, ""
	for l := range sample.Lines() {
		in += string(l) + "\n"
		if strings.Contains(string(l), `"copy_of"`) {
			copies++
		}
	}
	all, sum := storiesOf(t, in), 0
	for i, r := range all {
		sum += r.Copies
		require.Equal(t, r.Root.ID, r.ByPublisher[0].ID, "the lines have no time: the root is first")
		require.True(t, i == 0 || r.Copies <= all[i-1].Copies, "the largest first")
	}
	require.Equal(t, copies, sum)
}

func TestStoriesMistakes(t *testing.T) {
	in := commandtest.File(t, "in.jsonl", line("a", harbour))
	for want, args := range map[string][]string{
		"is also read": {in, "--stories", in},
		"--owners: ":   {in, "--stories", "-", "--owners", in},
	} {
		code, _, errOut := filtered(t, "", args...)
		require.Equal(t, command.ExitFailed, code)
		require.Contains(t, errOut, want)
	}
}
