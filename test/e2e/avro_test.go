package e2e

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/pipeline/record"
	"echosieve/test/articles"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// confluentKafka is the producer's package, as pip names it.
const confluentKafka = "confluent-kafka[avro]==2.16.0"

// python returns an interpreter that has confluentKafka, kept in the cache beside Kafka.
func python(t testing.TB) string {
	t.Helper()
	home := kafkaserver.Cached(t, "python-"+confluentKafka, func(home string) {
		for _, command := range [][]string{
			{"python3", "-m", "venv", "--clear", home},
			{filepath.Join(home, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", confluentKafka},
		} {
			out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			require.NoError(t, err, ".ci/setup test installs venv; pip needs its registry\n%s", out)
		}
	})
	return filepath.Join(home, "bin", "python")
}

// strangers publishes JSON articles in Avro with the producer in Python.
func strangers(t testing.TB, c cluster, registry, place string, articles [][]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "avro_producer.py", c.kafka, c.topic, "http://"+registry, place)
	cmd.Stdin = bytes.NewReader(append(bytes.Join(articles, []byte("\n")), '\n'))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Each record that a stranger's producer writes in Avro gets the verdict that the same article gets as JSON,
// and its output holds the bytes of the record. While the registry is away, records wait. A record whose schema nobody
// knows becomes a dead letter.
func TestAvroOfStrangers(t *testing.T) {
	schemas := startRegistry(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	writer, records := written(t, 600)
	var lines [][]byte
	for _, r := range records {
		if _, is := writer.Facts[string(r.Key)]; is {
			lines = append(lines, r.Value)
		}
	}
	half := len(lines) / 2
	strangers(t, c, schemas.Addr, "value", lines[:half])
	strangers(t, c, schemas.Addr, "header", lines[half:])
	unknown := append(binary.BigEndian.AppendUint32([]byte{0}, 999), "what?"...)
	publish(t, c, []*kgo.Record{{Key: []byte("unknown"), Value: unknown}})

	schemas.Stop()
	p := service.Start(t, c.settings().With(service.Settings{
		"input.format": "avro", "input.framing": "confluent", "input.registry.urls": "http://" + schemas.Addr,
		"input.fields.text": "story.text",
	}))
	p.Await(t, "/readyz", "503", "schema ") // records wait for the registry
	schemas.Restart()
	p.WaitReady(t)

	all := kafkaserver.Read(t, c.kafka, []string{c.topic}, kafkaserver.AtLeast(len(lines)+1))
	writer.Reasons = map[string]record.RejectReason{"unknown": record.NoSchema}
	found := articles.Judge(ledger.Run{Inputs: ledger.ByCoordinates(all), Partitions: partitions, Topics: c.outputs(),
		Outputs: watch(t, c, len(all), func(int) {})}, writer)
	require.Empty(t, found.Violations)
	require.Less(t, found.Texts, len(lines)*9/10, "too few of the articles are copies")
	require.EqualValues(t, 1, p.Metric(t, `echosieve_pipeline_records_total{reason="no_schema",verdict="dead"}`))
	stop(t, p)
}

// registry is a schema registry that speaks the REST interface of Confluent's. Not for concurrent use.
type registry struct {
	*srfake.Registry        // holds the schemas
	Addr             string // host and port

	t      testing.TB
	server *http.Server
}

// startRegistry starts a registry without schemas; it ends with the test.
func startRegistry(t testing.TB) *registry {
	t.Helper()
	s := &registry{t: t, Registry: srfake.New(), Addr: host.Addr(host.Ports(t, 1)[0])}
	t.Cleanup(s.Close)
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Stop takes the registry away: its address refuses connections. Its schemas are kept.
func (s *registry) Stop() { _ = s.server.Close() }

// Restart brings the registry back.
func (s *registry) Restart() {
	s.t.Helper()
	to, err := url.Parse(s.URL())
	require.NoError(s.t, err)
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(s.t, err)
	s.server = &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }()
}
