package filter

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/app/config"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/sample"
	"echosieve/test/redisrig"
	"echosieve/test/tier"
)

// ofService returns the lines that the articles of a JSON Lines file get with the verdicts of the service, on
// the index in Redis.
func ofService(t *testing.T, addr, path string) string {
	t.Helper()
	cfg := config.Default()
	cfg.Redis.Namespace += "-" + t.Name() + time.Now().Format("150405.000")
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	index, err := redisindex.New(client, cfg.IndexConfig(made.ID()), nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	pipe, err := pipeline.New(pipeline.Config{Decode: cfg.Input.AsJSON(), MaxMessageBytes: cfg.Kafka.MaxMessageBytes},
		made, index, nil)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	now, n := time.Now(), int64(0)
	var lines []byte
	for value := range bytes.Lines(data) {
		n++
		r := record.Record{Coordinates: article.Coordinates{Topic: path, Offset: n}, Value: bytes.TrimSpace(value),
			Time: now}
		// one by one: of a claim of several, later ones are candidates, too
		batch, err := pipe.Prepare(t.Context(), []record.Record{r})
		require.NoError(t, err)
		decided, err := pipe.Decide(t.Context(), batch)
		require.NoError(t, err)
		member := decided[0].Member()
		lines, err = member.AppendTo(lines, "echosieve", r.Value)
		require.NoError(t, err)
		lines = append(lines, '\n')
	}
	return string(lines)
}

// The verdicts of the shipped sample are those of the service, byte by byte.
func TestSameAsService(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		var lines []byte
		for l := range sample.Lines() {
			lines = append(append(lines, l...), '\n')
		}
		path := commandtest.File(t, "sample.jsonl", string(lines))
		_, got, _ := filtered(t, "", path)
		require.Equal(t, ofService(t, addr, path), got)
	})
}

// So are those of a corpus: of the folder ECHOSIEVE_TEST_CORPORA, or shared/corpora beside the repository.
func TestSameAsServiceOnCorpus(t *testing.T) {
	tier.All(t)
	folder := os.Getenv("ECHOSIEVE_TEST_CORPORA")
	if folder == "" {
		folder = "../../../../../shared/corpora"
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
	require.NoError(t, err)
	if len(names) == 0 {
		t.Skip("no corpus")
	}
	var lines bytes.Buffer
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		unzip, err := gzip.NewReader(f)
		require.NoError(t, err)
		_, err = io.Copy(&lines, unzip)
		require.NoError(t, err)
	}
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		if !strings.HasSuffix(t.Name(), "Real") {
			return
		}
		path := commandtest.File(t, "corpus.jsonl", lines.String())
		_, got, _ := filtered(t, "", path, "--time-field", "none")
		require.Greater(t, strings.Count(got, "\n"), 20_000)
		want, ours := strings.Split(ofService(t, addr, path), "\n"), strings.Split(got, "\n")
		require.Len(t, ours, len(want))
		for i := range want {
			require.Equal(t, want[i], ours[i])
		}
	})
}
