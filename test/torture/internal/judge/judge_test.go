package judge

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/articles"
)

const (
	partitionsIn  = 6
	partitionsOut = 4
)

// honest holds what a service without a mistake publishes of a writer's records.
type honest struct {
	writer *articles.Writer
	run    ledger.Run
}

// newHonest runs a writer's records through the pipeline and the index in memory: as a service does, in small
// batches of one partition each. Every tenth result of Write stands for an aborted transaction: the service
// does not get its records.
func newHonest(t *testing.T) *honest {
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	h := &honest{
		writer: articles.NewWriter(5, "a", recipe, true),
		run: ledger.Run{
			Inputs: map[string]*kgo.Record{}, Partitions: partitionsOut,
			Topics: ledger.Topics{Unique: "unique", Duplicate: "duplicate", Dead: "dead"},
		},
	}
	decode := decode.DefaultConfig()
	index := memindex.New(memindex.Config{Window: 168 * time.Hour, Generations: 2, Search: h.writer.Index.Search,
		BlockBits: h.writer.Index.Plan().Layout.Bits})
	service, err := pipeline.New(pipeline.Config{Decode: decode, MaxMessageBytes: articles.MaxMessageBytes}, recipe,
		index, nil)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(5, 5))
	var ends [partitionsIn]int64
	var batches [partitionsIn][]record.Record
	decide := func(p int) {
		prepared, err := service.Prepare(t.Context(), batches[p])
		require.NoError(t, err)
		outputs, err := service.Decide(t.Context(), prepared)
		require.NoError(t, err)
		for i := range outputs {
			h.run.Outputs = append(h.run.Outputs, h.published(&outputs[i]))
		}
		batches[p] = nil
	}
	for unit := range 3000 {
		for _, r := range h.writer.Write() {
			p := random.IntN(partitionsIn)
			r.Topic, r.Partition, r.Offset = "in", int32(p), ends[p]
			ends[p]++
			if unit%10 == 9 {
				continue
			}
			h.run.Inputs[ledger.Coordinates(r)] = r
			batches[p] = append(batches[p], record.Record{
				Coordinates: article.Coordinates{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset},
				Key:         r.Key, Value: r.Value, Time: r.Timestamp,
				Headers: []record.Header{{Key: r.Headers[0].Key, Value: r.Headers[0].Value}},
			})
		}
		decide(random.IntN(partitionsIn))
	}
	for p := range batches {
		decide(p)
	}
	return h
}

// published returns the record of an output topic that an output of the pipeline becomes.
func (h *honest) published(o *pipeline.Output) *kgo.Record {
	r := &kgo.Record{
		Topic: o.Destination.String(), Partition: o.Record.Partition % partitionsOut,
		Key: o.Record.Key, Value: o.Record.Value, Timestamp: o.Record.Time,
	}
	if o.Destination == article.ToPossible {
		r.Topic = h.run.Topics.Unique
	}
	for _, x := range o.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: x.Key, Value: x.Value})
	}
	return r
}

// outputs are a copy of the honest outputs, for one mistake to change.
type outputs []*kgo.Record

// find returns the first output, and its headers, for which is returns true. The fact is the writer's about
// that article.
func (all outputs) find(t *testing.T, d *articles.Writer, is func(headers map[string]string, f articles.Fact) bool) (
	*kgo.Record, map[string]string) {
	for _, r := range all {
		if h := ledger.Headers(r); is(h, d.Facts[string(r.Key)]) {
			return r, h
		}
	}
	require.Fail(t, "no output has the properties that this mistake needs")
	return nil, nil
}

func (all outputs) of(t *testing.T, input string) *kgo.Record {
	r, _ := all.find(t, &articles.Writer{}, func(h map[string]string, _ articles.Fact) bool {
		return h[pipeline.HeaderInput] == input
	})
	return r
}

func set(r *kgo.Record, headers ...string) {
	for i := 0; i < len(headers); i += 2 {
		r.Headers = slices.DeleteFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == headers[i] })
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
	}
}

func unset(r *kgo.Record, headers ...string) {
	r.Headers = slices.DeleteFunc(r.Headers, func(h kgo.RecordHeader) bool { return slices.Contains(headers, h.Key) })
}

func isNear(h map[string]string, _ articles.Fact) bool { return h[pipeline.HeaderVerdict] == "near" }

func isFirst(h map[string]string, f articles.Fact) bool {
	return h[pipeline.HeaderVerdict] == "unique" && f.Family != "" && f.Role == articles.First
}

// misreported are mistakes of a service as they show in its outputs, each with the violation that Judge must report:
// those that package ledger cannot know, and one that it reports.
var misreported = map[string]struct {
	want   ledger.Kind
	change func(t *testing.T, d *articles.Writer, all outputs) outputs
}{
	"a record is left out": {ledger.Lost, func(_ *testing.T, _ *articles.Writer, all outputs) outputs {
		return all[1:]
	}},
	"a text does not come through": {ledger.LostText, func(t *testing.T, d *articles.Writer, all outputs) outputs {
		_, h := all.find(t, d, isNear)
		r := all.of(t, h[pipeline.HeaderRoot])
		r.Topic = "duplicate"
		set(r, pipeline.HeaderVerdict, "near", pipeline.HeaderOriginal, h[pipeline.HeaderInput])
		return all
	}},
	"a copy is unique": {ledger.Twin, func(t *testing.T, d *articles.Writer, all outputs) outputs {
		r, h := all.find(t, d, func(h map[string]string, f articles.Fact) bool {
			return isNear(h, f) &&
				f.Role != articles.Version
		})
		r.Topic = "unique"
		unset(r, pipeline.HeaderOriginal, pipeline.HeaderOriginalID)
		set(r, pipeline.HeaderVerdict, "unique", pipeline.HeaderRoot, h[pipeline.HeaderInput], pipeline.HeaderRootID,
			string(r.Key))
		return all
	}},
	"a version names a version that is not its neighbour": {ledger.Unrelated,
		func(t *testing.T, d *articles.Writer, all outputs) outputs {
			r, _ := all.find(t, d, func(h map[string]string, f articles.Fact) bool {
				return isNear(h, f) && f.Role == articles.Version && f.Step == 0
			})
			group := d.Facts[string(r.Key)].Family
			far, h := all.find(t, d, func(_ map[string]string, f articles.Fact) bool {
				return f.Family == group &&
					f.Step == 2
			})
			set(r, pipeline.HeaderOriginal, h[pipeline.HeaderInput], pipeline.HeaderOriginalID, string(far.Key))
			return all
		}},
	"a copy of another text": {ledger.Unrelated, func(t *testing.T, d *articles.Writer, all outputs) outputs {
		r, _ := all.find(t, d, isNear)
		other, h := all.find(t, d, func(h map[string]string, f articles.Fact) bool {
			return isFirst(h, f) && f.Family != d.Facts[string(r.Key)].Family
		})
		set(r, pipeline.HeaderOriginal, h[pipeline.HeaderInput], pipeline.HeaderOriginalID, string(other.Key))
		return all
	}},
}

// Judge reports nothing about the outputs of a service without a mistake, and reports each mistake that is
// put into them.
func TestMistakesInOutputsAreFound(t *testing.T) {
	h := newHonest(t)
	found := Judge(h.run, h.writer, Excuses{})
	require.Empty(t, found.Violations)
	checked := Census{CommittedRecords: 1, AbortedRecords: 1}
	checked.Count(h.run.Inputs, found, h.writer.Breakable())
	require.Greater(t, checked[copiesOfCopies], 50, "too few copies have a root that is not their original")
	for name, n := range checked {
		if !strings.HasPrefix(name, compressed) { // nothing was compressed
			require.Positive(t, n, name)
		}
	}
	for name, m := range misreported {
		t.Run(name, func(t *testing.T) {
			run := h.run
			run.Outputs = nil
			for _, r := range h.run.Outputs {
				c := *r
				c.Headers = slices.Clone(r.Headers)
				run.Outputs = append(run.Outputs, &c)
			}
			run.Outputs = m.change(t, h.writer, run.Outputs)
			var kinds []ledger.Kind
			for _, v := range Judge(run, h.writer, Excuses{}).Violations {
				kinds = append(kinds, v.Kind)
			}
			require.Contains(t, kinds, m.want)
		})
	}
}
