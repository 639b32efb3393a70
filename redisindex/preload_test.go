package redisindex

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// preload fills an index with unique articles that have their verdicts, without look-ups for them. Fingerprints are uniform.
type preload struct {
	client  redis.UniversalClient
	r       *rand.Rand
	stored  int // articles to be stored
	anchors int // of each article
	made    int // articles stored or claimed so far
}

// next makes an article. All are in one slice.
func (p *preload) next() article.Article {
	c := random(p.r, p.made, time.UnixMilli((1_700_000_000_000/86_400_000)*86_400_000+43_200_000))
	c.Anchors = c.Anchors[:0]
	for range p.anchors {
		c.Anchors = append(c.Anchors, p.r.Uint64())
	}
	p.made++
	return c
}

// store writes what the steps of a claim would write, except that many articles share a command. So it needs a fraction of their time.
func (p *preload) store(t testing.TB, x *Index) {
	t.Helper()
	lists := map[keyspace.ListRef][]simhash.Fingerprint{}
	pipe := p.client.Pipeline()
	var blocks []simhash.Block
	for p.made < p.stored {
		c := p.next()
		field := x.entryOf(c).Field()
		blocks = x.layout.Plan.AppendStored(blocks[:0], &c)
		for _, block := range blocks {
			ref := keyspace.ListRef{Slice: field.Slice, Block: block.Index, Value: block.Value}
			lists[ref] = append(lists[ref], c.Fingerprint)
		}
		e := keyspace.Entry{Article: c, Ticket: uint64(p.made)}
		entry := e.AppendDecided(nil, x.layout.Start(field.Slice), article.Verdict{Kind: article.Unique})
		pipe.HSet(t.Context(), x.keys.Entries(field), field.Name(), entry)
		pipe.HSet(t.Context(), x.keys.Exists(field.Slice), "", "")
		p.flush(t, pipe, 2000)
	}
	require.NoError(t, connection.LoadScripts(t.Context(), p.client, scripts...))
	for ref, list := range lists {
		x.lists.add(t.Context(), pipe, []keyspace.ListRef{ref}, [][]simhash.Fingerprint{list})
		p.flush(t, pipe, 2000)
	}
	pipe.IncrBy(t.Context(), x.keys.Sequence(), int64(p.made))
	p.flush(t, pipe, 1)
}

// flush sends a pipeline if it holds at least that many commands.
func (p *preload) flush(t testing.TB, pipe redis.Pipeliner, least int) {
	t.Helper()
	if pipe.Len() >= least {
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
	}
}
