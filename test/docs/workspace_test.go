package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/sample"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// patience bounds each command.
const patience = 5 * time.Minute

// workspace is the folder in which the commands run, with the servers that they reach. It looks like the
// repository after make build: the programs are in bin, which is also in PATH, and links lead to the folders
// of files that pages name.
type workspace struct {
	t            testing.TB // of all commands
	dir          string
	kafka, redis string
	http         string // address of the service
	environ      []string
	articles     int // in articles.jsonl.gz
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	// Commands of the pages change settings of Redis.
	w := &workspace{t: t, dir: t.TempDir(), kafka: kafkaserver.Shared(t).Addr, redis: redisserver.Start(t).Addr,
		http: host.Addr(host.Ports(t, 1)[0])}
	w.forget()
	t.Cleanup(w.forget)
	root := host.Root(t)
	programs, err := service.Programs(t.TempDir())
	require.NoError(t, err)
	for name, folder := range map[string]string{"bin": programs, "cmd": filepath.Join(root, "cmd"),
		"deploy": filepath.Join(root, "deploy")} {
		require.NoError(t, os.Symlink(folder, filepath.Join(w.dir, name)))
	}
	// With one partition, a copy is always decided after its original.
	w.environ = append(os.Environ(), "PATH="+filepath.Join(w.dir, "bin")+":"+os.Getenv("PATH"),
		"ECHOSIEVE_KAFKA_BROKERS="+w.kafka, "ECHOSIEVE_REDIS_ADDRS="+w.redis, "ECHOSIEVE_KAFKA_CREATE_TOPICS=true",
		"ECHOSIEVE_KAFKA_PARTITIONS=1",
		"ECHOSIEVE_HTTP_LISTEN="+w.http)
	w.writeArticles()
	return w
}

// forget deletes the topics that the pages name, and with them what groups have committed: others use the broker, too.
func (w *workspace) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the context of the test may have ended
	defer cancel()
	topics, err := kadm.NewClient(kafkaserver.Client(w.t, w.kafka)).DeleteTopics(ctx, "articles", "articles-unique",
		"articles-duplicate", "articles-dead", "articles-shadow")
	require.NoError(w.t, err)
	for _, topic := range topics {
		require.True(w.t, topic.Err == nil || errors.Is(topic.Err, kerr.UnknownTopicOrPartition), "%s: %v",
			topic.Topic, topic.Err)
	}
}

// writeArticles writes the reader's articles: those of the sample that are JSON objects, and two of them as texts.
func (w *workspace) writeArticles() {
	var lines strings.Builder
	for line := range sample.Lines() {
		var a struct{ ID, Text string }
		if json.Valid(line) {
			lines.Write(append(line, '\n'))
			w.articles++
		}
		if json.Unmarshal(line, &a) == nil {
			if name := map[string]string{"zh-metro": "original.txt", "zh-metro-src": "copy.txt"}[a.ID]; name != "" {
				w.write(name, []byte(a.Text))
			}
		}
	}
	w.write("articles.jsonl.gz", []byte(host.Gzip(w.t, lines.String())))
}

func (w *workspace) write(name string, data []byte) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), data, 0o600))
}

// command returns the command of a row as it is run.
func (w *workspace) command(t *testing.T, printed string, r row) *exec.Cmd {
	pairs := append([]string{"localhost:9092", w.kafka, "localhost:6379", w.redis}, r.with...)
	if r.find != nil {
		pairs = append(pairs, r.find(t, w)...)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", strings.NewReplacer(pairs...).Replace(printed)) // ended by run
	cmd.Dir, cmd.Env = w.dir, w.environ
	return cmd
}

// run runs the command of a row until it ends, or until its output is as the row says, and compares the output.
func (w *workspace) run(t *testing.T, printed string, r row) {
	var out service.Output
	cmd := w.command(t, printed, r)
	cmd.Stdout, cmd.Stderr = &out, &out
	process, err := child.Start(cmd)
	require.NoError(t, err)
	// A shell does not pass signals on: they go to its group.
	w.t.Cleanup(process.Kill)
	until := regexp.MustCompile(r.until)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if r.until != "" && until.MatchString(out.String()) {
			if r.stop {
				require.True(t, process.Stop(patience))
			}
			return
		}
		if process.Ended() {
			break
		}
		require.True(t, time.Now().Before(end), "%s does not end:\n%s", cmd.Args, out.String())
	}
	require.NoError(t, process.Err(), "%s\n%s", cmd.Args, out.String())
	require.Empty(t, r.until, "it ended:\n%s", out.String())
	text := out.String()
	if r.output != nil {
		text = r.output(t, w)
	}
	for _, want := range r.want {
		require.Regexp(t, want, text)
	}
	if r.shownIn != "" {
		shown := shownAfter(t, r.shownIn, printed)
		require.NotEmpty(t, shown)
		for _, line := range shown {
			require.Regexp(t, `(?m)^`+likeShown(line)+`$`, text)
		}
	}
}

var number = regexp.MustCompile(`\d+(ms\b)?`)

// likeShown returns a regular expression of the lines that are like a line of a page, up to its numbers. A
// time of a second or more is not printed in milliseconds: "1.203s".
func likeShown(line string) string {
	return number.ReplaceAllStringFunc(regexp.QuoteMeta(line), func(n string) string {
		if strings.HasSuffix(n, "ms") {
			return `[\d.]+m?s`
		}
		return `\d+`
	})
}

func fileText(name string) func(*testing.T, *workspace) string {
	return func(t *testing.T, w *workspace) string {
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		require.NoError(t, err)
		return string(data)
	}
}

func redisPort(t *testing.T, w *workspace) []string {
	_, port, err := net.SplitHostPort(w.redis)
	require.NoError(t, err)
	return []string{"redis-cli ", "redis-cli -p " + port + " "}
}

func httpAddress(_ *testing.T, w *workspace) []string { return []string{"localhost:9464", w.http} }

// ready waits until the service is ready. It is not ready for a moment when a server answers a probe late.
func ready(t *testing.T, w *workspace) []string {
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + w.http + "/readyz")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond)
	return nil
}

// committed waits until the service has committed every article of articles.jsonl.gz: a refill restores what
// is committed.
func committed(t *testing.T, w *workspace) []string {
	client := kafkaserver.Client(t, w.kafka)
	require.Eventually(t, func() bool {
		offsets, err := kadm.NewClient(client).FetchOffsets(t.Context(), "echosieve")
		at, _ := offsets.Lookup("articles", 0)
		return err == nil && at.At >= int64(w.articles)
	}, patience, 50*time.Millisecond)
	return nil
}

// judged waits until the service has published a verdict on every article of articles.jsonl.gz.
func judged(t *testing.T, w *workspace) []string {
	w.await(t, w.articles, "articles-unique", "articles-duplicate", "articles-dead")
	return nil
}

// duplicate replaces the coordinates of a duplicate by those of the first one that was published.
func duplicate(t *testing.T, w *workspace) []string {
	first := w.await(t, 1, "articles-duplicate")[0]
	return []string{"articles-duplicate/2/1517", fmt.Sprintf("%s/%d/%d", first.Topic, first.Partition, first.Offset)}
}

// shadowed waits until the shadow has published a verdict.
func shadowed(t *testing.T, w *workspace) []string {
	w.await(t, 1, "articles-shadow")
	return nil
}

// refusedAgain waits until the dead letters that were published again are refused again.
func refusedAgain(t *testing.T, w *workspace) string {
	return fmt.Sprintf("%d dead letters", len(w.await(t, 2*deadInSample, "articles-dead")))
}

// deadInSample is the number of records of articles.jsonl.gz that become dead letters.
const deadInSample = 4

// await reads the topics until they have at least so many records in all, and returns those that it read.
func (w *workspace) await(t *testing.T, atLeast int, topics ...string) []*kgo.Record {
	return kafkaserver.Read(t, w.kafka, topics, kafkaserver.AtLeast(atLeast))
}
