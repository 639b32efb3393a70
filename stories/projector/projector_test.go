package projector

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
	"echosieve/stories"
	"echosieve/test/redisrig"
)

// newProjector returns a projector on the stories of one name in Redis.
func newProjector(t testing.TB, client redis.UniversalClient, name string) *Projector {
	t.Helper()
	s := open(t, client, name, false)
	p := &Projector{Store: s, Rules: &stories.Rules{Window: time.Hour}, Decoder: decode.New(decode.DefaultConfig()),
		Root: func(_ context.Context, at article.Coordinates) (record.Record, bool, error) {
			return record.Record{Coordinates: at, Time: noon, Value: []byte(`{"text":"x","title":"T","source":"root"}`)},
				at.Offset != gone, nil
		},
		Roots: NewRoots(), Topic: func() uint32 { return 1 },
		Health: func(string, fmt.Stringer, error) {}, Metrics: NewMetrics(nil)}
	return p
}

// run tells the keys of this run from those of an earlier one on a shared server.
var run = fmt.Sprint(time.Now().UnixNano())

func open(t testing.TB, client redis.UniversalClient, name string, rebuild bool) *Store {
	t.Helper()
	s, err := Open(t.Context(), client, keyspace.Keys{Prefix: run + name + ":"}, name, time.Hour, rebuild)
	require.NoError(t, err)
	return s
}

// gone is the offset of a root that Kafka no longer has.
const gone = 99

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// output is a record of an output topic: a copy of a root.
func output(partition int32, offset, root int64, verdict string) record.Record {
	from := article.Coordinates{Topic: "in", Partition: partition, Offset: 1000 + offset}
	h := func(key, value string) record.Header { return record.Header{Key: key, Value: []byte(value)} }
	r := record.Record{Coordinates: article.Coordinates{Topic: "out", Partition: partition, Offset: offset}, Time: noon,
		Value:   fmt.Appendf(nil, `{"text":"some text","source":"p%d"}`, offset%3),
		Headers: []record.Header{h(pipeline.HeaderVerdict, verdict), h(pipeline.HeaderInput, from.String())}}
	if verdict == "unique" {
		r.Headers = append(r.Headers, h(pipeline.HeaderRoot, from.String()), h(pipeline.HeaderRootID, "u"))
		return r
	}
	at := fmt.Sprintf("in/0/%d", root)
	r.Headers = append(r.Headers, h(pipeline.HeaderReason, "overlap"), h(pipeline.HeaderDistance, "3"),
		h(pipeline.HeaderRelation, "overlaps"), h(pipeline.HeaderOriginal, at), h(pipeline.HeaderOriginalID, "root"),
		h(pipeline.HeaderRoot, at), h(pipeline.HeaderRootID, "root"))
	return r
}

// label is a record of the topic of labels, whose topic has one partition.
func label(offset, root int64) record.Record {
	return record.Record{Coordinates: article.Coordinates{Topic: "labels", Offset: offset}, Time: noon,
		Value: fmt.Appendf(nil, `{"root":"in/0/%d","label":"false","text":"%d"}`, root, offset)}
}

func decide(t testing.TB, p *Projector, records ...record.Record) (*pipeline.Batch, []stories.Record) {
	t.Helper()
	b, err := p.Prepare(t.Context(), records)
	require.NoError(t, err)
	outputs, err := p.Decide(t.Context(), b)
	require.NoError(t, err)
	return b, parsed(t, outputs)
}

func outdated(t testing.TB, p *Projector, b *pipeline.Batch) []stories.Record {
	t.Helper()
	outputs, err := p.Outdated(t.Context(), b)
	require.NoError(t, err)
	return parsed(t, outputs)
}

func parsed(t testing.TB, outputs []pipeline.Output) (all []stories.Record) {
	t.Helper()
	for _, o := range outputs {
		var r stories.Record
		require.NoError(t, json.Unmarshal(o.Record.Value, &r))
		require.Equal(t, r.Root.Coordinates, string(o.Record.Key))
		all = append(all, r)
	}
	return all
}

func TestProjector(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		p := newProjector(t, client, t.Name())
		damaged := output(0, 7, 1, "near")
		damaged.Headers[0].Value = []byte("perhaps")
		_, all := decide(t, p, output(0, 0, 1, "near"), output(0, 1, 1, "exact"), output(0, 2, 0, "unique"),
			output(0, 3, gone, "near"), output(0, 4, 5, "possible"), record.Record{Value: []byte("{}")}, damaged,
			output(0, 8, 1, "possible"))
		require.Len(t, all, 2, "an article that is only resembled has no story yet")
		require.Equal(t, []int{2, 1, 1, 3}, []int{all[0].Copies, all[0].Exact, all[0].Near, all[0].Publishers})
		require.Equal(t, "T", all[0].Root.Title)
		require.Equal(t, "in/0/1008", all[0].Related[0].ID, "without an id it has that of the input")
		require.Empty(t, all[1].Root.Publisher, "the record of the root is gone")
		for result, want := range map[string]float64{resultCopy: 3, resultRelated: 2, resultNone: 1, resultForeign: 2} {
			require.Equal(t, want, testutil.ToFloat64(p.Metrics.records.WithLabelValues(result)), result)
		}
		_, all = decide(t, p, output(1, 0, 5, "near"))
		require.Len(t, all[0].Related, 1, "what came before the first copy is kept")
	})
}

// The facts of a root that was read are known without Kafka, as long as few enough roots came after it.
func TestRoots(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		p := newProjector(t, redisrig.Client(t, addr), t.Name())
		asked := 0
		p.Root = func(context.Context, article.Coordinates) (r record.Record, found bool, err error) {
			asked++
			return r, false, nil
		}
		root := output(0, -1000, 0, "unique") // of in/0/0
		root.Value = []byte(`{"text":"x","title":"T","source":"root"}`)
		_, all := decide(t, p, root, output(0, 1, 0, "near"), output(0, 2, 1, "near"))
		require.Equal(t, "T", all[0].Root.Title)
		require.Equal(t, "root", all[0].Root.ID, "as the copy names it")
		require.Equal(t, 1, asked, "for the other root")
		for offset := range int64(maxRoots) {
			at := article.Coordinates{Topic: "in", Offset: 1 + offset}
			keepRoot(p.Roots, stories.Article{Ref: article.Ref{Coordinates: at}})
		}
		require.False(t, p.Roots.Contains(article.Coordinates{Topic: "in"}))
		require.Equal(t, maxRoots, p.Roots.Len())
	})
}

// A process dies after it has stored a batch and before it publishes. Who repeats the batch publishes it.
func TestRepeatedBatchIsPublishedAgain(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		p := newProjector(t, client, t.Name())
		_, first := decide(t, p, output(0, 0, 1, "near"))
		_, again := decide(t, newProjector(t, client, t.Name()), output(0, 0, 1, "near"))
		require.Equal(t, first, again)
	})
}

// Who built the stories anew ends the old edition, and so does a Redis that has lost them.
func TestGenerationEnds(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		p := newProjector(t, client, t.Name())
		decide(t, p, output(0, 0, 1, "near"))
		anew := open(t, client, t.Name(), true)
		require.NotEqual(t, p.Store.Edition(), anew.Edition())
		b, err := p.Prepare(t.Context(), []record.Record{output(0, 1, 1, "near")})
		require.NoError(t, err)
		_, err = p.Decide(t.Context(), b)
		require.ErrorIs(t, err, ErrEdition)
	})
}

// Where another program has put a value of its own in the place of a state, the projector waits, and says what to do.
func TestValueOfAnotherProgram(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		p := newProjector(t, client, t.Name())
		key := p.Store.keys.Story(p.Store.Edition(), "in/0/1")
		require.NoError(t, client.LPush(t.Context(), key, "x").Err())
		said := ""
		p.Health = func(_ string, _ fmt.Stringer, err error) {
			if err != nil {
				said = err.Error()
				require.NoError(t, client.Del(t.Context(), key).Err())
			}
		}
		_, all := decide(t, p, output(0, 0, 1, "near"))
		require.Len(t, all, 1)
		const cause = "holds a value that is not Echosieve's: find out which program writes it"
		require.Contains(t, said, cause)
		require.NoError(t, client.Del(t.Context(), p.Store.keys.StoryEdition()).Err())
		require.NoError(t, client.LPush(t.Context(), p.Store.keys.StoryEdition(), "x").Err())
		_, err := Open(t.Context(), client, p.Store.keys, t.Name(), time.Hour, false)
		require.ErrorContains(t, err, cause)
	})
}

// world is output partitions, and processes that read them as the consumer does: the model of the protocol, with this
// package in place of the model's steps. Each partition has a fence, whose epoch an append must have.
type world struct {
	t          *testing.T
	rng        *rand.Rand
	client     redis.UniversalClient
	name       string
	partitions [3][]record.Record
	committed  [3]int
	epoch      [3]int
	log        map[string]stories.Record // the last record of each key
}

// process is a run of one process through one partition. Each call of step goes on to the next point where others run.
type process struct {
	w         *world
	p         *Projector
	partition int
	epoch     int
	next      int // offset
	batch     *pipeline.Batch
	end       int
	unsent    []stories.Record
}

func (w *world) takeOver(partition int) *process {
	w.epoch[partition]++
	p := newProjector(w.t, w.client, w.name)
	if p.Labels = partition == 2; p.Labels {
		p.Topic = func() uint32 { return 2 }
	}
	return &process{w: w, p: p, partition: partition, epoch: w.epoch[partition], next: w.committed[partition]}
}

// step says whether there is more to do.
func (r *process) step() bool {
	w := r.w
	switch records := w.partitions[r.partition]; {
	case len(r.unsent) > 0:
		if r.epoch < w.epoch[r.partition] {
			return false // fenced
		}
		w.log[r.unsent[0].Root.Coordinates], r.unsent = r.unsent[0], r.unsent[1:]
	case r.batch != nil:
		if r.unsent = outdated(w.t, r.p, r.batch); len(r.unsent) > 0 {
			return true
		}
		if r.epoch < w.epoch[r.partition] {
			return false // the group has another member
		}
		r.batch, r.next, w.committed[r.partition] = nil, r.end, r.end
	case r.next == len(records):
		return false
	default:
		r.end = min(len(records), r.next+1+w.rng.IntN(3))
		r.batch, r.unsent = decide(w.t, r.p, records[r.next:r.end]...)
	}
	return true
}

// TestSchedules runs processes that overtake each other, die and go on late. At the end the last record of each story
// must hold all of its copies and labels.
func TestSchedules(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		for seed := range uint64(60) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), client: client, name: fmt.Sprint(t.Name(), seed),
				log: map[string]stories.Record{}}
			want, labels := map[string]int{}, map[string]int{}
			for p := range w.partitions {
				for offset := range int64(3 + w.rng.IntN(6)) {
					root := w.rng.Int64N(3)
					if p == 2 {
						labels[fmt.Sprintf("in/0/%d", root)]++
						w.partitions[p] = append(w.partitions[p], label(offset, root))
						continue
					}
					w.partitions[p] = append(w.partitions[p], output(int32(p), offset, root, "near"))
					want[fmt.Sprintf("in/0/%d", root)]++
				}
			}
			live := []*process{w.takeOver(0), w.takeOver(1), w.takeOver(2)}
			for range 20 + w.rng.IntN(80) {
				if w.rng.IntN(12) == 0 { // another owner; the former one goes on late, or is dead
					live = append(live, w.takeOver(w.rng.IntN(3)))
				}
				i := w.rng.IntN(len(live))
				if !live[i].step() && len(live) > 1 {
					live = append(live[:i], live[i+1:]...)
				}
			}
			last := append(live, w.takeOver(0), w.takeOver(1), w.takeOver(2))
			for len(last) > 0 {
				if i := w.rng.IntN(len(last)); !last[i].step() {
					last = append(last[:i], last[i+1:]...)
				}
			}
			for root, copies := range want {
				require.Equal(t, copies, w.log[root].Copies, "seed %d: %s", seed, root)
				require.Len(t, w.log[root].Labels, labels[root], "seed %d: %s", seed, root)
			}
		}
	})
}
