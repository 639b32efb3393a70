package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/simhash"
)

// Every edition of so many articles holds so many copies: in 40,000 articles 29,600 are unique.
const (
	edition       = 500
	editionCopies = 130
	maxGroup      = 6    // copies of one article; the index offers at most 8 of one fingerprint as originals
	remembered    = 2000 // articles that can still be copied
	spread        = 72 * time.Hour
	nearDistance  = 3 // always found: the index stores a fingerprint under four blocks
)

// Broken records, null values and chains of a mixed desk: every so many records there is one.
const (
	everyBroken   = 97
	everyNull     = 211
	everyTooLarge = 701
	everyChain    = 16
)

// role says how an article relates to the others of its group.
type role uint8

const (
	first   role = iota // a new text
	exact               // the same text as the first
	near                // the first's text and one short sentence more
	version             // one of a chain
)

// fact is what we know of an article that we wrote.
type fact struct {
	group string // id of its first article
	role  role
	step  int // of a version: its place in the chain
}

// certain says whether two articles of one group must count as copies of each other, whoever compares them. Two near
// copies differ in two sentences, which a rule may judge either way. Versions are copies of their neighbours.
func (f fact) certain(g fact) bool { return f.mayRepeat(g) && (f.role != near || g.role != near) }

// mayRepeat says whether one of two articles may count as a copy of the other.
func (f fact) mayRepeat(g fact) bool {
	return f.group == g.group && (f.role != version || (f.step-g.step <= 1 && g.step-f.step <= 1))
}

type group struct {
	id      string // of its first article
	members int
	text    string
	print   article.Article
}

// desk writes articles out of invented words, the same for the same seed. Not safe for concurrent use.
type desk struct {
	random *rand.Rand
	recipe *recipe.Recipe
	index  redisindex.Config // how the service finds and judges articles
	words  []string
	now    time.Time
	prefix string // of its ids: different desks write different ids
	mixed  bool   // puts chains, broken records and null values in between

	facts   map[string]fact            // by article id
	reasons map[string]pipeline.Reason // of broken records, by key
	groups  []*group                   // the last ones
	made    int                        // groups ever made, chains not counted
	copies  []bool                     // of this edition: which articles are copies
	next    int                        // place in it
	number  int
}

func newDesk(seed uint64, prefix string, recipe *recipe.Recipe, mixed bool) *desk {
	index := redisindex.DefaultConfig()
	index.Search = recipe.Search()
	d := &desk{
		random: rand.New(rand.NewPCG(seed, 0)), recipe: recipe, index: index, now: time.Now(), prefix: prefix, mixed: mixed,
		facts: map[string]fact{}, reasons: map[string]pipeline.Reason{},
	}
	syllables := []string{"ba", "dor", "lin", "ka", "mes", "tur", "vi", "ron", "sal", "pe", "nok", "ji", "hul", "gra", "zet", "wo"}
	for _, a := range syllables {
		for _, b := range syllables {
			for _, c := range syllables {
				d.words = append(d.words, a+b+c)
			}
		}
	}
	return d
}

// write returns what is published next: a record, or a chain of them, to be published at once.
func (d *desk) write() []*kgo.Record {
	d.number++
	id := fmt.Sprintf("%s%d", d.prefix, d.number)
	switch {
	case !d.mixed:
	case d.number%everyTooLarge == 0:
		return one(d.broken(id, pipeline.TooLarge))
	case d.number%everyBroken == 0:
		return one(d.broken(id, breakable[d.number/everyBroken%len(breakable)]))
	case d.number%everyNull == 0:
		return one(d.record("null-"+id, nil))
	case d.number%everyChain == 0:
		return d.chain(id)
	}
	return one(d.article(id))
}

func one(r *kgo.Record) []*kgo.Record { return []*kgo.Record{r} }

// article returns a new article or a copy.
func (d *desk) article(id string) *kgo.Record {
	if d.next == len(d.copies) {
		d.copies, d.next = make([]bool, edition), 0
		for _, i := range d.random.Perm(edition - 1)[:editionCopies] {
			d.copies[i+1] = true
		}
	}
	isCopy := d.copies[d.next]
	d.next++
	if isCopy {
		return d.textRecord(id, d.copied(id))
	}
	return d.textRecord(id, d.fresh(id))
}

func (d *desk) textRecord(id, text string) *kgo.Record {
	value, err := json.Marshal(map[string]any{"id": id, "title": "Article " + id, "text": text, "source": "torture"})
	if err != nil {
		panic(err) // strings always marshal
	}
	return d.record(id, value)
}

// record dates it somewhere in three days, so that copies lie in one generation of the index or in two.
func (d *desk) record(id string, value []byte) *kgo.Record {
	return &kgo.Record{
		Key: []byte(id), Value: value,
		Timestamp: d.now.Add(-time.Duration(d.random.Int64N(int64(spread)))).Truncate(time.Millisecond),
		Headers:   []kgo.RecordHeader{{Key: "number", Value: []byte(id)}},
	}
}

func (d *desk) fresh(id string) string {
	var b strings.Builder
	for n := 250 + d.random.IntN(40); n > 0; n -= 10 {
		d.sentence(&b, 10)
	}
	d.made++
	g := &group{id: id, text: b.String()}
	g.print, _ = d.recipe.Fingerprint(g.text)
	if len(d.groups) == remembered {
		d.groups = d.groups[1:]
	}
	d.groups = append(d.groups, g)
	d.facts[id] = fact{group: g.id, role: first}
	return g.text
}

func (d *desk) copied(id string) string {
	var g *group
	for g == nil || g.members == maxGroup {
		reach := len(d.groups)
		if d.random.IntN(2) == 0 {
			reach = min(reach, 6) // a moment ago: processed at the same time, by another process
		}
		g = d.groups[len(d.groups)-1-d.random.IntN(reach)]
		if g.members == maxGroup && reach < remembered {
			g = d.groups[d.random.IntN(len(d.groups))]
		}
	}
	g.members++
	if d.random.IntN(2) == 0 {
		for range 8 {
			var b strings.Builder
			b.WriteString(g.text)
			d.sentence(&b, 3)
			a, _ := d.recipe.Fingerprint(b.String())
			if simhash.Distance(a.Fingerprint, g.print.Fingerprint) <= nearDistance && d.index.Compare(&a, &g.print).Kind == article.Near {
				d.facts[id] = fact{group: g.id, role: near}
				return b.String()
			}
		}
	}
	d.facts[id] = fact{group: g.id, role: exact}
	return g.text
}

func (d *desk) sentence(b *strings.Builder, words int) {
	for i := range words {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.words[d.random.IntN(len(d.words))])
		if i == words-1 {
			b.WriteByte('.')
		}
	}
}
