package load

import (
	_ "embed" // for the directives below
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// remembered is the number of latest originals of which copies are made. At 100 records/s a copy follows its
// original by seconds.
const remembered = 1000

// article is the JSON object that is published.
type article struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Text   string `json:"text"`
	Source string `json:"source"`
	CopyOf string `json:"copy_of,omitempty"` // id of the original; the service ignores it
}

// original is an article of which copies can be made.
type original struct {
	article
	*story
	language   *language
	paragraphs []string
}

func (o *original) chinese() bool { return o.language.separator == "" }

// language is what a feed needs of one of its two languages.
type language struct {
	*grammar
	separator string // between words
	rewords   *strings.Replacer
}

//go:embed forms/en.txt
var english string

//go:embed forms/zh.txt
var chinese string

// languages reads the forms once for all feeds.
var languages = sync.OnceValue(func() []*language {
	return []*language{newLanguage(english, " ", ","), newLanguage(chinese, "", "")}
})

func newLanguage(source, separator, thousands string) *language {
	l := &language{grammar: newGrammar(source, thousands), separator: separator}
	var pairs []string
	for _, form := range l.symbols["reword"] {
		from, to, _ := strings.Cut(form, " > ")
		pairs = append(pairs, separator+from+separator, separator+to+separator)
	}
	l.rewords = strings.NewReplacer(pairs...)
	return l
}

// Feed makes articles without end, half of them in Chinese and half in English: reports of invented events,
// told in the forms of folder forms about invented people, places and figures. A copy repeats one of the
// latest originals under another id, as re-publishers do. Not for concurrent use.
type Feed struct {
	rng    *rand.Rand
	copies float64
	recent []*original
	prefix string
	made   Made // by Next
}

// Made counts articles: originals, near and exact copies.
type Made struct {
	Originals int `json:"originals"`
	Near      int `json:"near_copies"`
	Exact     int `json:"exact_copies"`
}

// NewFeed returns a feed. The share copies (0 to 1) of its articles are copies, half of them exact, half
// near. The same seed makes the same articles; their ids begin with name and seed.
func NewFeed(name string, copies float64, seed uint64) *Feed {
	return &Feed{rng: rand.New(rand.NewPCG(seed, 0)), copies: copies, prefix: fmt.Sprintf("%s-%x-", name, seed)}
}

// Next returns the id and the JSON object of the next article.
func (f *Feed) Next() (id string, value []byte) {
	var a article
	id = fmt.Sprintf("%s%d", f.prefix, f.made.Originals+f.made.Near+f.made.Exact+1)
	switch {
	case len(f.recent) == 0 || f.rng.Float64() >= f.copies:
		o := f.original(id)
		a = o.article
		f.remember(o)
		f.made.Originals++
	case f.rng.IntN(2) == 0:
		a = f.copied(f.sameText, id)
		f.made.Exact++
	default:
		a = f.copied(f.edited, id)
		f.made.Near++
	}
	value, _ = json.Marshal(a) // strings: never fails
	return id, value
}

func (f *Feed) original(id string) *original {
	l := languages()[f.rng.IntN(2)]
	o := &original{story: l.newStory(f.rng), language: l}
	headline := o.tell(title)
	o.paragraphs = o.story.paragraphs()
	o.article = article{ID: id, Title: headline, Text: strings.Join(o.paragraphs, "\n"), Source: o.tell("paper1")}
	return o
}

func (f *Feed) remember(o *original) {
	if len(f.recent) < remembered {
		f.recent = append(f.recent, o)
	} else {
		f.recent[f.rng.IntN(remembered)] = o
	}
}

// copied returns a copy of one of the latest originals, under its own id.
func (f *Feed) copied(publish func(*original) article, id string) article {
	o := f.recent[f.rng.IntN(len(f.recent))]
	a := publish(o)
	a.ID, a.CopyOf = id, o.ID
	return a
}
