package e2e

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/stories"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// TestExampleConsumers requires that the consumers of deploy/examples print each published article once, with
// its verdict, past the markers of the transactions that an exactly-once service leaves in its topics, and
// that they go on where they stopped. The examples in the folder stories keep one line for each story, in which each
// copy counts once, also while stories grow.
func TestExampleConsumers(t *testing.T) {
	consumer := goExample(t, "consumer.go")
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	publish := func() { echosieve(t, c.settings(), "produce", "--sample") }
	service.Start(t, c.settings()).WaitReady(t)
	publish()

	const articles = 72 // of the sample's 77 records, 5 are dead letters
	total, copies := articles, 0
	for name, command := range map[string][]string{
		"python": {python(t), "../../deploy/examples/consumer.py"},
		"go":     {consumer},
	} {
		t.Run(name, func(t *testing.T) {
			inputs := map[string]bool{}
			verdicts := map[string]int{}
			for range 2 { // the second one goes on
				var out, errors service.Output
				cmd := exec.Command(command[0], append(command[1:], c.kafka, c.topic+name, c.topic+"-unique",
					c.topic+"-duplicate")...)
				cmd.Stdout, cmd.Stderr = &out, &errors
				require.NoError(t, cmd.Start())
				want := total
				if len(inputs) > 0 {
					publish()
					total += articles
					want = articles
				}
				for deadline := time.Now().Add(service.Patience); len(out.Lines()) < want; time.Sleep(
					50 * time.Millisecond) {
					require.True(t, time.Now().Before(deadline), "%d articles\n%s", len(out.Lines()), errors.String())
				}
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				require.NoError(t, cmd.Wait(), errors.String())
				for _, line := range out.Lines() {
					var article map[string]string
					require.NoError(t, json.Unmarshal([]byte(line), &article), line)
					require.False(t, inputs[article["input"]], "twice: %s", line)
					require.NotEmpty(t, article["input"])
					inputs[article["input"]] = true
					verdicts[article["verdict"]]++
				}
			}
			require.Positive(t, verdicts["unique"])
			require.Positive(t, verdicts["near"])
			require.Positive(t, verdicts["exact"])
			require.Zero(t, verdicts[""])
			copies = verdicts["near"] + verdicts["exact"]
		})
	}
	t.Run("stories", func(t *testing.T) {
		storiesOf(t, c, c.settings())
		examples := map[string][]string{
			"python": {python(t), "../../deploy/examples/stories/stories.py"},
			"go":     {goExample(t, "stories/main.go")},
		}
		files := t.TempDir()
		for name, command := range examples {
			arguments := append(command[1:], c.kafka, c.topic+"-stories", filepath.Join(files, name))
			cmd := exec.Command(command[0], arguments...)
			var errors service.Output
			cmd.Stderr = &errors
			require.NoError(t, cmd.Start())
			t.Cleanup(func() {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				require.NoError(t, cmd.Wait(), errors.String())
			})
		}
		for range 2 {
			for name := range examples {
				require.Eventually(t, func() bool { return storyCopies(t, filepath.Join(files, name)) == copies },
					service.Patience, 100*time.Millisecond, name)
			}
			publish()
			copies += articles // each repeats itself
		}
	})
}

// goExample builds an example of deploy/examples.
func goExample(t *testing.T, file string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "example")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../deploy/examples/"+file)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// storyCopies returns the number of copies in all lines of a file of stories. Each story has one line, the largest
// first.
func storyCopies(t *testing.T, file string) (copies int) {
	t.Helper()
	text, _ := os.ReadFile(file) // it comes with the first story
	roots, before := map[string]bool{}, math.MaxInt
	for line := range strings.Lines(string(text)) {
		var s stories.Record
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		require.False(t, roots[s.Root.Coordinates], line)
		require.LessOrEqual(t, s.Copies, before)
		roots[s.Root.Coordinates], before = true, s.Copies
		copies += s.Copies
	}
	return copies
}

// TestItemPipeline runs the item pipeline of docs/platforms.md, as the page prints it, in the order of Scrapy's calls.
func TestItemPipeline(t *testing.T) {
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	program := host.Between(t, host.Read(t, "docs/platforms.md"), "\n```python\n", "```\n")
	for _, printed := range []string{`"localhost:9092"`, `"articles"`} {
		require.Contains(t, program, printed)
	}
	program = strings.NewReplacer(`"localhost:9092"`, strconv.Quote(c.kafka), `"articles"`,
		strconv.Quote(c.topic)).Replace(program) + `
text = ("The harbour board voted on Monday to deepen the eastern channel by two metres before winter. Work begins in "
    "March, and the ferries to the islands will leave from the old quay until the dredgers have gone.")
articles = Articles()
articles.open_spider()
for url, added in [("/one", ""), ("/one", " Source: press agency.")]:
    assert articles.process_item({"url": url, "title": "Harbour", "text": text + added})["url"] == url
articles.close_spider()
`
	service.Start(t, c.settings()).WaitReady(t)
	out, err := exec.CommandContext(t.Context(), python(t), "-c", program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var verdicts []string
	for _, r := range watch(t, c, 2, func(int) {}) {
		require.Equal(t, "/one", string(r.Key))
		verdicts = append(verdicts, ledger.Headers(r)[pipeline.HeaderVerdict])
	}
	require.ElementsMatch(t, []string{"unique", "near"}, verdicts)
}
