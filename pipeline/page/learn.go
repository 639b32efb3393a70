package page

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
	"echosieve/simhash"
)

const (
	// minLearned is the length of the shortest sentence that is learnt, in bytes of its normalised form: four
	// Chinese characters, or 12 letters. Shorter ones stand in articles, too.
	minLearned = 12
	// maxCounted bounds the sentences that are counted, about 400 MB. Beyond it, the rarest are forgotten.
	maxCounted = 4 << 20
	// manyPublishers is the number of publishers from which on a learnt sentence is listed for all publishers.
	manyPublishers = 3
)

// Learner finds the sentences that publishers put under their articles, by counting over many articles. Not
// for concurrent use.
type Learner struct {
	least    int
	share    float64
	most     int            // sentences that are counted; maxCounted except in tests
	articles map[string]int // by publisher
	counted  map[uint64]countedSentence
	texts    map[uint64]learntText // of sentences that at least three articles have
	seen     map[uint64]bool       // sentences of one article
	buf      []byte
}

// countedSentence counts the articles of one publisher that have a sentence. Articles are told apart by a key
// that copies of an article mostly share, because a sentence of an article that a publisher publishes twenty
// times is no boilerplate: the lowest hash of its other sentences. The bits of keys count different articles:
// n articles set about 64*(1-exp(-n/64)) of them.
type countedSentence struct {
	articles int32
	keys     uint64
}

type learntText struct{ publisher, sentence string }

// NewLearner returns a Learner of sentences that at least so many different articles of a publisher have (up
// to about 200 can be told apart), and at least a share of its articles.
func NewLearner(least int, share float64) *Learner {
	return &Learner{
		least: least, share: share, most: maxCounted, articles: map[string]int{},
		counted: map[uint64]countedSentence{}, texts: map[uint64]learntText{},
		seen: map[uint64]bool{},
	}
}

// Add counts the sentences of an article. It returns false if the text has no words.
func (l *Learner) Add(content article.Content) bool {
	publisher := content.Publisher
	switch {
	case publisher == "" || publisher == AllPublishers:
		publisher = NoPublisher
	case strings.ContainsAny(publisher, "\t\r\n"):
		publisher = NoPublisher // a table has no room for it
	}
	clean := text.Clean(content.Text)
	if l.buf = text.AppendNormalised(l.buf[:0], clean); len(l.buf) == 0 {
		return false
	}
	l.articles[publisher]++
	type span struct {
		hash       uint64
		start, end int
	}
	var sentences []span
	clear(l.seen)
	first, second := uint64(math.MaxUint64), uint64(math.MaxUint64) // the two lowest hashes
	for start, end := range text.Sentences(clean) {
		l.buf = text.AppendNormalised(l.buf[:0], clean[start:end])
		hash := simhash.Hash(string(l.buf))
		if len(l.buf) < minLearned || l.seen[hash] {
			continue
		}
		l.seen[hash] = true
		sentences = append(sentences, span{hash, start, end})
		if hash < first {
			first, second = hash, first
		} else {
			second = min(second, hash)
		}
	}
	of := simhash.Hash(publisher)
	for _, s := range sentences {
		key := first
		if s.hash == first {
			key = second
		}
		id := simhash.Mix(of ^ s.hash)
		c := l.counted[id]
		c.articles++
		c.keys |= 1 << (simhash.Mix(key) >> 58)
		l.counted[id] = c
		if c.articles == 3 {
			l.texts[id] = learntText{publisher, strings.Clone(clean[s.start:s.end])}
		}
	}
	l.forget()
	return true
}

// forget drops the rarest sentences when too many are counted. It goes through all sentences, so it makes
// room for many new ones: a quarter of them. Otherwise the next article would begin the same work again.
func (l *Learner) forget() {
	if len(l.counted) <= l.most {
		return
	}
	for least := int32(1); len(l.counted) > l.most/4*3; least++ {
		for id, c := range l.counted {
			if c.articles <= least {
				delete(l.counted, id)
				delete(l.texts, id)
			}
		}
	}
}

// Sentences returns the sentences that were learnt and that the table does not have, by publisher, the most
// frequent first. A sentence of several publishers is listed once, for all.
func (l *Learner) Sentences(table *Boilerplate) []Sentence {
	bySentence := map[string][]Sentence{}
	for id, learnt := range l.texts {
		c := l.counted[id]
		free := 64 - bits.OnesCount64(c.keys)
		different := 64 * math.Log(64/float64(free)) // +Inf if no bit is free
		if math.Round(different) >= float64(l.least) &&
			float64(c.articles) >= l.share*float64(l.articles[learnt.publisher]) {
			normalised := string(text.AppendNormalised(nil, learnt.sentence))
			bySentence[normalised] = append(bySentence[normalised],
				Sentence{learnt.publisher, int(c.articles), learnt.sentence})
		}
	}
	var list []Sentence
	for _, rows := range bySentence {
		if len(rows) >= manyPublishers {
			all := Sentence{Publisher: AllPublishers, Text: rows[0].Text}
			for _, row := range rows {
				all.Articles += row.Articles
				all.Text = min(all.Text, row.Text)
			}
			rows = []Sentence{all}
		}
		for _, row := range rows {
			if !table.Has(row.Publisher, row.Text) {
				list = append(list, row)
			}
		}
	}
	slices.SortFunc(list, func(a, b Sentence) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(b.Articles, a.Articles),
			cmp.Compare(a.Text, b.Text))
	})
	return list
}

// Publishers returns the number of publishers of the articles.
func (l *Learner) Publishers() int { return len(l.articles) }
