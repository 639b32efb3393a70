package refill

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/app/registry"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

// A gap holds a record whose schema nobody knows. It became a dead letter, so a process that fills the gap leaves it
// out, and joins the group.
func TestMadeUpSchemaInAGap(t *testing.T) {
	t.Parallel()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	const schema = `{"type":"record","name":"Story","fields":[{"name":"text","type":"string"}]}`
	fake.SeedSchema("story", 1, 7, sr.Schema{Schema: schema})
	schemas, err := registry.Config{Registry: registry.Server{URLs: []string{fake.URL()}}}.Open()
	require.NoError(t, err)
	client := schemas.(*registry.Client)
	go func() { // as the service does
		for t.Context().Err() == nil {
			_ = client.Ping(t.Context())
			time.Sleep(100 * time.Millisecond)
		}
	}()
	cfg := decode.DefaultConfig()
	cfg.Format, cfg.Framing = decode.FormatAvro, decode.FramingConfluent
	cfg.Schemas = client.Waiting(func(string, fmt.Stringer, error) {})
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	x := indexrig.New(t, redisrig.Client(t, miniredis.RunT(t).Addr()), redisrig.Config(redisrig.Standard))
	stages := pipeline.New(pipeline.Config{Decode: cfg, RecordConfig: pipeline.DefaultRecordConfig(),
		MaxMessageBytes: 1 << 20, Window: time.Hour}, made, x, nil)
	var records []record.Record
	for offset, id := range []uint32{7, 9} {
		records = append(records, record.Record{
			Coordinates: article.Coordinates{Topic: "articles", Offset: int64(offset)}, Time: time.Now(),
			Value: append(binary.BigEndian.AppendUint32([]byte{0}, id), "\x0aferry"...),
		})
	}
	stored, forgotten, err := decide(t.Context(), stages, admin.New(x), records)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{stored, forgotten})
}
