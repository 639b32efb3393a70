package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/registryserver"
	"echosieve/test/service"
)

// confluentKafka is the producer's package, as pip names it.
const confluentKafka = "confluent-kafka[avro]==2.16.0"

// python returns an interpreter that has confluentKafka and more packages. They are kept in the cache beside
// those of Kafka.
func python(t testing.TB, more ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	root := filepath.Join(cache, "echosieve-test")
	require.NoError(t, os.MkdirAll(root, 0o755))
	packages := append([]string{confluentKafka}, more...)
	home := filepath.Join(root, "python-"+strings.Join(packages, "-"))
	lock, err := os.OpenFile(home+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if _, err := os.Stat(filepath.Join(home, ".complete")); err != nil {
		for _, command := range [][]string{
			{"python3", "-m", "venv", "--clear", home},
			append([]string{filepath.Join(home, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check"},
				packages...),
		} {
			if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("no Python with %v (.ci/setup test installs venv; pip needs its registry): %v\n%s", packages,
					err, out)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(home, ".complete"), nil, 0o644))
	}
	return filepath.Join(home, "bin", "python")
}

// strangers publishes JSON articles in Avro with the producer in Python. It returns the records as they stand
// in the input topic from their coordinates on, and the JSON of each.
func strangers(t testing.TB, c cluster, registry, place string, articles [][]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "avro_producer.py", c.kafka, c.topic, "http://"+registry, place)
	cmd.Stdin = bytes.NewReader(append(bytes.Join(articles, []byte("\n")), '\n'))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// refusing returns the address of a server before a registry that refuses three ids in its own ways.
func refusing(t testing.TB, registry string) string {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})
	to.ErrorLog = log.New(io.Discard, "", 0)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Base(r.URL.Path) {
		case "998":
			http.Error(w, "no", http.StatusInternalServerError)
		case "997":
			http.Redirect(w, r, "http://login.invalid/", http.StatusFound)
		case "996":
			fmt.Fprint(w, "<!doctype html><title>Log in</title>")
		default:
			to.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// inputRecords reads the input topic.
func inputRecords(t testing.TB, c cluster, want int) []*kgo.Record {
	t.Helper()
	reader := client(t, kgo.SeedBrokers(c.kafka), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeTopics(c.topic))
	var records []*kgo.Record
	for len(records) < want {
		fetches := reader.PollFetches(t.Context())
		require.NoError(t, t.Context().Err())
		fetches.EachRecord(func(r *kgo.Record) { records = append(records, r) })
	}
	require.Len(t, records, want)
	return records
}

// waitFor waits until a fact is true.
func waitFor(t testing.TB, what string, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(service.Patience); !fact(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// Each record that a stranger's producer writes in Avro gets the verdict that the same article gets as JSON,
// and its output holds the bytes of the record. A record whose schema nobody knows becomes a dead letter.
// While the registry is away, records with a new schema wait, the service is red, and goes on by itself.
func TestAvroOfStrangers(t *testing.T) {
	interpreter := python(t)
	require.NotEmpty(t, interpreter)
	registry := registryserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings().With(service.Settings{
		"input.format": "avro", "input.framing": "confluent", "input.registry.urls": refusing(t, registry.Addr),
		"input.fields.text": "story.text",
	}))

	var lines [][]byte
	for _, r := range articles(t) {
		if text := gjson.GetBytes(r.Value, "text"); json.Valid(r.Value) && text.Type == gjson.String &&
			len(lines) < 500 {
			line, err := json.Marshal(map[string]string{"id": fmt.Sprint(len(lines)),
				"title": gjson.GetBytes(r.Value, "title").String(), "text": text.String()})
			require.NoError(t, err)
			lines = append(lines, line)
		}
	}
	half := len(lines) / 2
	strangers(t, c, registry.Addr, "value", lines[:half])
	strangers(t, c, registry.Addr, "header", lines[half:])
	var bad []*kgo.Record // 999 is unknown, the others are refused
	for _, id := range []uint32{999, 998, 997, 996} {
		bad = append(bad, &kgo.Record{Value: append(binary.BigEndian.AppendUint32([]byte{0}, id), "what?"...)})
	}
	publish(t, c, bad)
	p.WaitReady(t)

	inputs, asJSON := map[string]*kgo.Record{}, map[string]*kgo.Record{}
	for _, r := range inputRecords(t, c, len(lines)+len(bad)) {
		at := ledger.Coordinates(r)
		inputs[at] = r
		twin := *r
		twin.Value = []byte("{}")
		if len(r.Key) > 0 {
			var place int
			_, err := fmt.Sscan(string(r.Key), &place)
			require.NoError(t, err)
			twin.Value = lines[place]
		}
		asJSON[at] = &twin
	}
	outputs := watch(t, c, len(inputs), func(int) {})
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	report := ledger.Run{
		Inputs: inputs, Outputs: outputs, Partitions: partitions,
		Topics: ledger.Topics{Unique: c.topic + "-unique", Duplicate: c.topic + "-duplicate", Dead: c.topic + "-dead"},
		Reason: func(input string) record.RejectReason {
			if slices.ContainsFunc(bad, func(r *kgo.Record) bool { return input == ledger.Coordinates(r) }) {
				return record.NoSchema
			}
			return reason(made, asJSON[input])
		},
	}.Check()
	require.Empty(t, report.Violations)
	copies := checkVerdicts(t, made, indexConfig(made), decode.DefaultConfig(), window.Milliseconds(), asJSON,
		report.Seen)
	require.Greater(t, copies, len(lines)/50, "too few of the articles are copies")
	require.EqualValues(t, len(bad), p.Metric(t, `echosieve_pipeline_records_total{reason="no_schema",verdict="dead"}`))
	t.Logf("%d records, %d copies", len(inputs), copies)

	const later = `{"type":"record","name":"Later","fields":[{"name":"story","type":{"type":"record","name":"Body","fields":[{"name":"text","type":"string"}]}}]}`
	id := registry.Register("later", later)
	registry.Stop()
	value, err := avro.MustParse(later).Encode(
		map[string]any{"story": map[string]any{
			"text": "The harbour board voted on Monday to deepen the eastern channel."}})
	require.NoError(t, err)
	last := &kgo.Record{Value: append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), value...)}
	publish(t, c, []*kgo.Record{last})
	waitFor(t, "no call waits for the registry",
		func() bool { return strings.Contains(p.Get("/readyz"), fmt.Sprintf("schema %d", id)) })
	require.True(t, strings.HasPrefix(p.Get("/readyz"), "503"))
	require.Zero(t, p.Metric(t, `echosieve_connection_up{component="registry"}`))
	require.Len(t, watch(t, c, len(inputs), func(int) {}), len(outputs), "no output while the registry is away")

	registry.Restart()
	all := watch(t, c, len(inputs)+1, func(int) {})
	of := map[string]*kgo.Record{}
	for _, o := range all {
		of[ledger.Headers(o)[pipeline.HeaderInput]] = o
	}
	out := of[ledger.Coordinates(last)]
	require.Equal(t, last.Value, out.Value)
	require.NotEqual(t, c.topic+"-dead", out.Topic)
	p.WaitReady(t)
	stop(t, p)
}
