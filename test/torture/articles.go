package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
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

// role says how an article relates to the others of its group.
type role uint8

const (
	first role = iota // made anew
	exact             // the same text as the first
	near              // the first's text and one short sentence more
)

// fact is what we know of an article that we wrote.
type fact struct {
	group int
	role  role
}

// certain says whether two articles of one group must count as copies of each other, whoever compares them. Two near
// copies differ in two sentences, which a rule may judge either way.
func (f fact) certain(g fact) bool { return f.group == g.group && (f.role != near || g.role != near) }

type group struct {
	number  int
	members int
	text    string
	print   pipeline.Article
}

// desk writes articles out of invented words, the same for the same seed. Not safe for concurrent use.
type desk struct {
	random *rand.Rand
	recipe *pipeline.Recipe
	search pipeline.Search
	words  []string
	now    time.Time
	broken bool // put broken records in between

	facts  map[string]fact // by article id
	groups []*group        // the last ones
	made   int             // groups ever made
	copies []bool          // of this edition: which articles are copies
	next   int             // place in it
	number int
}

func newDesk(seed uint64, recipe *pipeline.Recipe, broken bool) *desk {
	d := &desk{random: rand.New(rand.NewPCG(seed, 0)), recipe: recipe, search: recipe.Search(), now: time.Now(), broken: broken, facts: map[string]fact{}}
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

// write returns the next record.
func (d *desk) write() *kgo.Record {
	d.number++
	switch {
	case d.broken && d.number%97 == 0:
		return d.record(fmt.Sprintf("broken-%d", d.number), []byte("not JSON"))
	case d.broken && d.number%211 == 0:
		return d.record(fmt.Sprintf("tombstone-%d", d.number), nil)
	}
	if d.next == len(d.copies) {
		d.copies, d.next = make([]bool, edition), 0
		for _, i := range d.random.Perm(edition - 1)[:editionCopies] {
			d.copies[i+1] = true
		}
	}
	isCopy := d.copies[d.next]
	d.next++
	id := fmt.Sprintf("a%d", d.number)
	var text string
	if isCopy {
		text = d.copied(id)
	} else {
		text = d.fresh(id)
	}
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
	g := &group{number: d.made, text: b.String()}
	g.print, _ = d.recipe.Fingerprint(g.text)
	if len(d.groups) == remembered {
		d.groups = d.groups[1:]
	}
	d.groups = append(d.groups, g)
	d.facts[id] = fact{g.number, first}
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
			if simhash.Distance(a.Fingerprint, g.print.Fingerprint) <= nearDistance && d.search.Compare(&a, &g.print).Kind == pipeline.Near {
				d.facts[id] = fact{g.number, near}
				return b.String()
			}
		}
	}
	d.facts[id] = fact{g.number, exact}
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
