// Package articles writes records for the fault runner and the end-to-end tests, knows of each what a service without a
// mistake must make of it, and judges what one has made. The same seed gives the same records.
package articles

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
)

const (
	copiesInThousand = 260 // on average
	// maxFamily is the most copies that a text gets by default. The index offers at most 8 articles of one fingerprint
	// as originals: with more copies, a copy could miss its original without a mistake of the service.
	maxFamily  = 6
	remembered = 20_000         // texts that can still be copied: the last ones
	spread     = 72 * time.Hour // of the records' timestamps
	publishers = 12             // an even number
)

// A mixed writer also writes other records: one in 97 is broken, one in 211 has a null value, and so on.
const (
	everyBroken   = 97
	everyNull     = 211
	everyTooLarge = 701
	everyChain    = 16
)

// MaxMessageBytes is the largest record that the service and the broker allow by default.
const MaxMessageBytes = 1 << 20

// Breakable are the defects that a small value can have: reasons of dead letters.
var Breakable = []record.RejectReason{record.NotJSON, record.NoText, record.WrongType, record.EmptyText}

// Role says how an article relates to the others of its family.
type Role uint8

// The roles.
const (
	First   Role = iota // a new text
	Exact               // the text of First, unchanged
	Near                // the text of First and one short sentence more
	Version             // one of a chain: see chain
)

// Fact is what the writer knows of an article.
type Fact struct {
	Family string // id of the family's first article
	Role   Role
	Step   int // of a Version: its place in the chain
}

// MustMatch says whether two articles of one family must count as copies of each other, whichever the service
// compares with the other. Two Near articles need not: they differ in two sentences, which the service may
// judge either way.
func (f Fact) MustMatch(g Fact) bool { return f.MayMatch(g) && (f.Role != Near || g.Role != Near) }

// MayMatch says whether one of two articles may count as a copy of the other. Versions of a chain may if they
// are neighbours.
func (f Fact) MayMatch(g Fact) bool {
	return f.Family == g.Family && (f.Role != Version || (f.Step-g.Step <= 1 && g.Step-f.Step <= 1))
}

// family is a text and its copies.
type family struct {
	id      string // of the first article
	copies  int
	text    string
	article article.Article
}

// Writer writes articles of invented words. It is not safe for concurrent use.
type Writer struct {
	// Facts are known of each article, by its id, which is the record's key.
	Facts map[string]Fact
	// Reasons are those for which broken records must become dead letters, by the record's key.
	Reasons map[string]record.RejectReason
	// Index finds and judges copies as a service with the default configuration does.
	Index keyspace.Config
	// Famous is the number of first texts that half of the copies repeat, the first ones more often than the others: so
	// families of all sizes up to MaxFamily copies come about. 0: none are. It is for setting before the first Write.
	Famous int
	// MaxFamily is the most copies that a text gets.
	MaxFamily int

	random   *rand.Rand
	recipe   *recipe.Recipe
	words    []string
	now      time.Time
	prefix   string
	mixed    bool
	families []*family // the last ones
	number   int       // of the last record
}

// NewWriter returns a writer. Its ids begin with the prefix: writers with different prefixes write different
// ids. A mixed writer writes chains, broken records and null values between the articles.
func NewWriter(seed uint64, prefix string, recipe *recipe.Recipe, mixed bool) *Writer {
	index := keyspace.DefaultConfig()
	index.Search = recipe.Search()
	w := &Writer{
		random: rand.New(rand.NewPCG(seed, 0)), recipe: recipe, Index: index, now: time.Now(), prefix: prefix,
		mixed: mixed, MaxFamily: maxFamily,
		Facts: map[string]Fact{}, Reasons: map[string]record.RejectReason{},
	}
	syllables := []string{"ba", "dor", "lin", "ka", "mes", "tur", "vi", "ron", "sal", "pe", "nok", "ji", "hul", "gra",
		"zet", "wo"}
	for _, a := range syllables {
		for _, b := range syllables {
			for _, c := range syllables {
				w.words = append(w.words, a+b+c)
			}
		}
	}
	return w
}

// Write returns the next records to publish: one record, or all versions of a chain, which are to be published at once.
func (w *Writer) Write() []*kgo.Record {
	w.number++
	id := fmt.Sprintf("%s%d", w.prefix, w.number)
	switch {
	case !w.mixed:
	case w.number%everyTooLarge == 0:
		return one(w.broken(id, record.TooLarge))
	case w.number%everyBroken == 0:
		return one(w.broken(id, Breakable[w.number/everyBroken%len(Breakable)]))
	case w.number%everyNull == 0:
		return one(w.record("null-"+id, nil))
	case w.number%everyChain == 0:
		return w.chain(id)
	}
	return one(w.article(id))
}

func one(r *kgo.Record) []*kgo.Record { return []*kgo.Record{r} }

// broken returns a record that must become a dead letter for the reason.
func (w *Writer) broken(id string, reason record.RejectReason) *kgo.Record {
	key := fmt.Sprintf("%s-%s", reason, id)
	w.Reasons[key] = reason
	value := map[record.RejectReason]string{
		record.NotJSON:   `{"id":"cut off","text":"The first words and`,
		record.NoText:    `{"id":"no-text","title":"A picture"}`,
		record.WrongType: `{"id":"list","text":["one","two"]}`,
		record.EmptyText: `{"id":"empty","text":"<p> - </p>"}`,
	}[reason]
	if reason == record.TooLarge {
		// The input topic takes this value. The output topics would not take it together with the headers of a verdict.
		value = `{"id":"large","text":"` + strings.Repeat("large ", (MaxMessageBytes-2048)/6) + `"}`
	}
	return w.record(key, []byte(value))
}

// article returns a new article or a copy.
func (w *Writer) article(id string) *kgo.Record {
	if len(w.families) > maxFamily && w.random.IntN(1000) < copiesInThousand {
		return w.textRecord(id, w.copyText(id)+notice)
	}
	return w.textRecord(id, w.newText(id)+notice)
}

// notice stands below each article that is no version of a chain: publishers repeat it, so that it is learnt.
const notice = "\nWhoever wants to read more of what our reporters write can order the paper at any office of the post."

func (w *Writer) textRecord(id, text string) *kgo.Record {
	publisher, credit := w.publisher(w.Facts[id]), ""
	if publisher%3 == 0 {
		credit = fmt.Sprintf("agency %d", w.number%2)
	}
	value, err := json.Marshal(map[string]any{"id": id, "title": "Article " + id, "text": text, "credit": credit,
		"source": fmt.Sprintf("publisher %d", publisher)})
	if err != nil {
		panic(err) // strings always marshal
	}
	return w.record(id, value)
}

// publisher returns the number of the publisher of an article. Two articles of one publisher with different texts need
// not be copies: so near copies and every other version have odd numbers, and all other articles even ones.
func (w *Writer) publisher(f Fact) int {
	odd := f.Step % 2
	if f.Role == Near {
		odd = 1
	}
	return w.number*2%publishers + odd
}

// record gives the record a timestamp of the last three days: copies then lie in one slice of the index's
// window or in two. Every other one is of now: learnt sentences count for those that are published late enough.
func (w *Writer) record(id string, value []byte) *kgo.Record {
	at := w.now.Add(-time.Duration(w.random.Int64N(int64(spread))))
	if w.number%2 == 0 {
		at = time.Now()
	}
	return &kgo.Record{
		Key: []byte(id), Value: value,
		Timestamp: at.Truncate(time.Millisecond),
		Headers:   []kgo.RecordHeader{{Key: "number", Value: []byte(id)}},
	}
}

// newText returns the text of a new family.
func (w *Writer) newText(id string) string {
	var b strings.Builder
	for n := 250 + w.random.IntN(40); n > 0; n -= 10 {
		w.sentence(&b, 10)
	}
	f := &family{id: id, text: b.String()}
	f.article, _ = w.recipe.Fingerprint(f.text, article.Origin{})
	if len(w.families) == remembered {
		w.families = w.families[1:]
	}
	w.families = append(w.families, f)
	w.Facts[id] = Fact{Family: f.id, Role: First}
	return f.text
}

// copyText returns the text of a copy: unchanged, or with a short sentence more that leaves it a near copy for certain.
func (w *Writer) copyText(id string) string {
	f := w.pick()
	f.copies++
	if w.random.IntN(2) == 0 {
		for range 8 {
			var b strings.Builder
			b.WriteString(f.text)
			w.sentence(&b, 3)
			a, _ := w.recipe.Fingerprint(b.String(), article.Origin{})
			if w.nearBothWays(&a, &f.article) {
				w.Facts[id] = Fact{Family: f.id, Role: Near}
				return b.String()
			}
		}
	}
	w.Facts[id] = Fact{Family: f.id, Role: Exact}
	return f.text
}

// pick draws a family that may get one more copy. Half of the draws are among the last six: the service then
// decides original and copy at the same time, in different processes.
func (w *Writer) pick() *family {
	var f *family
	for f == nil || f.copies == w.MaxFamily {
		reach := len(w.families)
		if famous := min(w.Famous, reach); famous > 0 && w.random.IntN(2) == 0 {
			f = w.families[w.random.IntN(1+w.random.IntN(famous))]
			continue
		}
		if w.random.IntN(2) == 0 {
			reach = min(reach, 6)
		}
		f = w.families[len(w.families)-1-w.random.IntN(reach)]
		if f.copies == w.MaxFamily && reach < remembered {
			f = w.families[w.random.IntN(len(w.families))]
		}
	}
	return f
}

func (w *Writer) sentence(b *strings.Builder, words int) {
	for i := range words {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.words[w.random.IntN(len(w.words))])
		if i == words-1 {
			b.WriteByte('.')
		}
	}
}

// A chain is a text that is rewritten several times. Each version drops the four oldest of its twenty
// sentences and adds four new ones. Neighbours in the chain are copies of each other; versions further apart
// are not. A chain shows whether a copy of a copy names the right root.
const (
	chainSentences = 20 // of a version
	chainShift     = 4  // sentences that each version drops
	minVersions    = 3
	maxVersions    = 6
)

// chain returns the records of a chain, with the ids id-0, id-1 and so on. The versions come in a random
// order. Half of the chains repeat one version exactly.
func (w *Writer) chain(id string) []*kgo.Record {
	versions := w.versions(minVersions + w.random.IntN(maxVersions-minVersions+1))
	steps := w.random.Perm(len(versions))
	if w.random.IntN(2) == 0 {
		steps = slices.Insert(steps, w.random.IntN(len(steps)+1), w.random.IntN(len(versions)))
	}
	var records []*kgo.Record
	for i, step := range steps {
		key := fmt.Sprintf("%s-%d", id, i)
		w.Facts[key] = Fact{Family: id, Role: Version, Step: step}
		records = append(records, w.textRecord(key, versions[step]))
	}
	return records
}

// versions returns the texts of a chain: n if the draws allow it, at least minVersions.
func (w *Writer) versions(n int) []string {
	for {
		var texts []string
		var articles []article.Article
		var sentences []string
		for tries := 0; len(texts) < n && tries < 4*n; tries++ {
			next := slices.Clone(sentences[min(chainShift, len(sentences)):])
			for len(next) < chainSentences {
				var b strings.Builder
				w.sentence(&b, 10)
				next = append(next, b.String())
			}
			text := strings.Join(next, " ")
			a, _ := w.recipe.Fingerprint(text, article.Origin{})
			if w.extends(articles, &a) {
				texts, articles, sentences = append(texts, text), append(articles, a), next
			}
		}
		if len(texts) >= minVersions {
			return texts
		}
	}
}

// nearBothWays says whether the service finds one article as a near copy of the other, whichever of the two
// comes first.
func (w *Writer) nearBothWays(a, b *article.Article) bool {
	plan := w.Index.Plan()
	return plan.Judge(&w.Index.Rule, a, b).Kind == article.Near &&
		plan.Judge(&w.Index.Rule, b, a).Kind == article.Near &&
		plan.Finds(a, b) && plan.Finds(b, a)
}

// extends says whether an article continues the chain: the service finds it as a copy of the last version,
// whichever of the two comes first, and does not judge it a copy of an earlier version.
func (w *Writer) extends(chain []article.Article, a *article.Article) bool {
	if len(chain) == 0 {
		return true
	}
	return w.nearBothWays(a, &chain[len(chain)-1]) &&
		!slices.ContainsFunc(chain[:len(chain)-1],
			func(b article.Article) bool { return w.Index.Compare(a, &b).Kind.IsCopy() })
}
