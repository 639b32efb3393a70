package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// fillPipeline is the number of commands, and fillList of lists in a command, that the filler sends at once.
const (
	fillPipeline = 4000
	fillList     = 256
)

// filler writes what claims of many articles would leave in Redis: entries and whole lists, each once. That
// takes a fraction of the time.
type filler struct {
	client   redis.UniversalClient
	keys     keyspace.Keys
	pipe     redis.Pipeliner
	progress io.Writer
}

func newFiller(client redis.UniversalClient, keys keyspace.Keys, progress io.Writer) *filler {
	return &filler{client: client, keys: keys, pipe: client.Pipeline(), progress: progress}
}

// fill stores n articles of the population.
func (f *filler) fill(ctx context.Context, p *population, n int) error {
	if err := f.entries(ctx, p, n); err != nil {
		return err
	}
	blocks := f.keys.Layout.Plan.Layout.Count + 1 // the last: anchors
	for block := range blocks {
		fmt.Fprintf(f.progress, "%d articles: lists of block %d of %d\n", n, block+1, blocks)
		values := uint64(1) << f.keys.Layout.Plan.Width(block)
		parts := uint64(1)
		// of anchors an article has several, and the lists of one part take as much memory as those of a block
		if block == blocks-1 {
			parts = lookup.StoredAnchors
		}
		for part := range parts {
			if err := f.lists(ctx, p, n, block, values*part/parts, values*(part+1)/parts); err != nil {
				return err
			}
		}
	}
	slice := f.keys.Layout.Slice(keyspace.WindowTime(p.at))
	f.pipe.HSet(ctx, f.keys.Exists(slice), "", "")
	f.pipe.Expire(ctx, f.keys.Exists(slice), f.keys.Layout.Lifetime)
	f.pipe.IncrBy(ctx, f.keys.Sequence(), int64(n))
	return f.flush(ctx, 1)
}

// entries stores the entries, all of them decided as unique.
func (f *filler) entries(ctx context.Context, p *population, n int) error {
	for i, a := range p.articles(n) {
		if i%1_000_000 == 0 {
			fmt.Fprintf(f.progress, "%d of %d articles\n", i, n)
		}
		e := f.keys.EntryOf(a)
		e.Ticket = uint64(i + 1)
		field := e.Field()
		key := f.keys.Entries(field)
		f.pipe.HSet(ctx, key, field.Name(), e.AppendDecided(nil, f.keys.Layout.Start(field.Slice),
			article.Verdict{Kind: article.Unique}))
		f.pipe.Expire(ctx, key, f.keys.Layout.Lifetime)
		if err := f.flush(ctx, fillPipeline); err != nil {
			return err
		}
	}
	return f.flush(ctx, 1)
}

// member is a fingerprint in a list of a block.
type member struct {
	value       uint64 // of the block
	fingerprint simhash.Fingerprint
}

// lists stores the lists of one block whose values are at least from and below to. It needs 16 bytes of
// memory for each fingerprint in them.
func (f *filler) lists(ctx context.Context, p *population, n, block int, from, to uint64) error {
	members := make([]member, 0, n+n/8)
	var blocks []simhash.Block
	for _, a := range p.articles(n) {
		blocks = f.keys.Layout.Plan.AppendStored(blocks[:0], a)
		for _, b := range blocks {
			if b.Index == block && b.Value >= from && b.Value < to {
				members = append(members, member{b.Value, a.Fingerprint})
			}
		}
	}
	// In a list the earlier article stays first.
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.value, b.value) })
	slice := f.keys.Layout.Slice(keyspace.WindowTime(p.at))
	hash, fields := "", []any{} // those that wait to be sent
	send := func() error {
		if len(fields) > 0 {
			f.pipe.HSet(ctx, hash, fields...)
			f.pipe.Expire(ctx, hash, f.keys.Layout.Lifetime)
		}
		fields = nil
		return f.flush(ctx, fillPipeline/fillList)
	}
	for len(members) > 0 {
		ref := keyspace.ListRef{Slice: slice, Block: block, Value: members[0].value}
		end := slices.IndexFunc(members, func(m member) bool { return m.value != ref.Value })
		if end < 0 {
			end = len(members)
		}
		list := fingerprintsOf(members[:end])
		members = members[end:]
		if f.keys.Layout.Sets {
			f.addSet(ctx, ref, list)
			if err := f.flush(ctx, fillPipeline); err != nil {
				return err
			}
			continue
		}
		if key := f.keys.ListHash(ref); key != hash || len(fields) >= 2*fillList {
			if err := send(); err != nil {
				return err
			}
			if key != hash {
				hash = key
				// a hash table, as add.lua makes it
				f.pipe.HSet(ctx, key, f.keys.Layout.Field(ref), strings.Repeat(" ", keyspace.TableBytes))
			}
		}
		var members []byte
		for _, fp := range list {
			members = f.keys.Layout.AppendMember(members, ref, fp)
		}
		fields = append(fields, f.keys.Layout.Field(ref), members)
	}
	if err := send(); err != nil {
		return err
	}
	return f.flush(ctx, 1)
}

// fingerprintsOf returns the list of one block value: each fingerprint once, and the newest if they are too many.
func fingerprintsOf(members []member) []simhash.Fingerprint {
	var list []simhash.Fingerprint
	for _, m := range members {
		if list = list[max(0, len(list)-keyspace.MaxMembers):]; !slices.Contains(list, m.fingerprint) {
			list = append(list, m.fingerprint)
		}
	}
	return list[max(0, len(list)-keyspace.MaxMembers):]
}

func (f *filler) addSet(ctx context.Context, ref keyspace.ListRef, list []simhash.Fingerprint) {
	numbers := make([]any, len(list))
	for i, fp := range list {
		numbers[i] = int64(fp)
	}
	key := f.keys.ListSet(ref)
	f.pipe.SAdd(ctx, key, numbers...)
	f.pipe.Expire(ctx, key, f.keys.Layout.Lifetime)
}

// flush sends the commands that wait if there are at least that many.
func (f *filler) flush(ctx context.Context, least int) error {
	if f.pipe.Len() < least {
		return nil
	}
	if err := connection.Execute(ctx, f.pipe); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return nil
}

// storedAt is the timestamp of all articles, stored and claimed: the middle of the present slice.
func storedAt(layout keyspace.Layout) time.Time {
	now := time.Now().UnixMilli()
	slice := layout.Slice(now)
	return time.UnixMilli((layout.Start(slice) + layout.Start(slice+1)) / 2)
}
