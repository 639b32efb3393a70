package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
	"echosieve/simhash"
)

// TableFormat is the version of the format of boilerplate tables, and of the way in which sentences are cut
// and compared. It is part of the recipe's id; the content of a table is not. So a new table starts no empty
// index. Raise the version if the same row would match other sentences.
const TableFormat = 1

// Names in the column publisher of a boilerplate table.
const (
	AllPublishers = "*" // the row counts for the records of all publishers
	NoPublisher   = "-" // the row counts for records that name no publisher
)

// Boilerplate is a table of sentences that publishers put under their articles, such as a disclaimer. The
// sentences are left out of fingerprint and signature. A row counts for records whose timestamp is at or
// after the row's time, and rows are only added, so a record meets the same rows whenever it is delivered.
// Safe for concurrent use.
type Boilerplate struct {
	rows   map[string][]boilerplateRow // by normalised sentence, in the order of the file
	count  int
	latest time.Time // from which all rows count
	ended  time.Time // when the last rows were written
}

type boilerplateRow struct {
	publisher string
	from      time.Time
	end       bool // from this time on the sentence is part of articles again
}

// Sentence is a sentence that a publisher puts under its articles.
type Sentence struct {
	Publisher string // or AllPublishers or NoPublisher
	Articles  int    // how many articles have it
	Text      string // clean
}

const boilerplateHead = `# Boilerplate of Echosieve: sentences that fingerprints ignore. See docs/detection.md.
# Rows: begin, publisher, number of articles, sentence; tabs between them. A row counts for records whose
# timestamp is at or after its begin.
# Publisher * stands for all publishers, - for records without a publisher. A row with 0 articles ends an earlier row.
# Delete rows that you do not want before the roll-out. Roll out to all processes before the rows begin. After that,
# only add rows: a record that is delivered again must meet the same rows.
`

const (
	formatRow  = "format"  // format <tab> version: the first row
	writtenRow = "written" // written <tab> time: when the rows below were written; they must begin later
)

// AppendBoilerplate writes rows to a boilerplate table: the head of the file if the table is nil, then the
// sentences. They were written at one time and count from a later one.
func AppendBoilerplate(w io.Writer, table *Boilerplate, written, from time.Time, sentences []Sentence) error {
	written, from = written.UTC().Truncate(time.Second), from.UTC().Truncate(time.Second)
	if !from.After(written) {
		return errors.New("rows must begin later than they are written, so that all processes have them by then")
	}
	if table != nil && written.Before(table.ended) {
		return fmt.Errorf("the last rows of the table were written at %s, which is in the future: correct the clock",
			table.ended.Format(time.RFC3339))
	}
	var b bytes.Buffer
	if table == nil {
		fmt.Fprintf(&b, "%s%s\t%d\n", boilerplateHead, formatRow, TableFormat)
	}
	fmt.Fprintf(&b, "%s\t%s\n", writtenRow, written.Format(time.RFC3339))
	for _, s := range sentences {
		fmt.Fprintf(&b, "%s\t%s\t%d\t%s\n", from.Format(time.RFC3339), s.Publisher, s.Articles, s.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ReadBoilerplate reads a boilerplate table. It returns nil if the path is empty. It refuses a table with a
// row that begins before it was written: records that were judged in between would get other fingerprints
// when they are delivered again.
func ReadBoilerplate(path string) (*Boilerplate, error) {
	if path == "" {
		return nil, nil
	}
	b := &Boilerplate{rows: map[string][]boilerplateRow{}}
	formatted := false
	_, err := text.ReadLines(path, func(_ []byte, line string) ([]byte, error) {
		fields := strings.Split(line, "\t")
		switch {
		case !formatted && len(fields) == 2 && fields[0] == formatRow:
			if fields[1] != strconv.Itoa(TableFormat) {
				return nil, fmt.Errorf("format %s, known: %d", fields[1], TableFormat)
			}
			formatted = true
			return nil, nil
		case !formatted:
			return nil, fmt.Errorf("the first row must be %q, a tab and %d", formatRow, TableFormat)
		case len(fields) == 2 && fields[0] == writtenRow:
			return nil, b.beginSection(fields[1])
		case len(fields) == 4:
			return nil, b.add(fields)
		}
		return nil, fmt.Errorf("%d fields with tabs between them, wanted: begin, publisher, articles, sentence",
			len(fields))
	})
	if err == nil && !formatted {
		err = fmt.Errorf("%s is empty", path)
	}
	return b, err
}

// beginSection takes the time at which the rows below it were written.
func (b *Boilerplate) beginSection(at string) error {
	written, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return fmt.Errorf("%q is no time such as 2026-05-04T12:00:00Z", at)
	}
	if written.Before(b.ended) {
		return errors.New("these rows were written before the rows above them: add rows at the end")
	}
	b.ended = written
	return nil
}

// add takes a row with a sentence.
func (b *Boilerplate) add(fields []string) error {
	from, err := time.Parse(time.RFC3339, fields[0])
	if err != nil {
		return fmt.Errorf("%q is no time such as 2026-05-04T12:00:00Z", fields[0])
	}
	if b.ended.IsZero() {
		return fmt.Errorf("a row %q with a time must stand above this row", writtenRow)
	}
	if !from.After(b.ended) {
		return fmt.Errorf("begins at %s, but was written at %s: rows begin after their roll-out", fields[0],
			b.ended.Format(time.RFC3339))
	}
	articles, err := strconv.ParseUint(fields[2], 10, 63)
	if err != nil {
		return fmt.Errorf("%q is not a number of articles", fields[2])
	}
	clean := text.Clean(fields[3])
	normalised := string(text.AppendNormalised(nil, clean))
	if fields[1] == "" || normalised == "" {
		return errors.New("the publisher or the sentence is empty")
	}
	if n := cutSentence(clean); n < len(clean) {
		return fmt.Errorf("more than one sentence: put %q into a row of its own", clean[:n])
	}
	publisher := article.Cut(fields[1], article.MaxPublisherBytes) // as the decoder cuts those of records
	b.rows[normalised] = append(b.rows[normalised], boilerplateRow{publisher, from, articles == 0})
	b.count++
	if from.After(b.latest) {
		b.latest = from
	}
	return nil
}

// Rows returns the number of rows, and the time from which all of them count. A nil Boilerplate has none.
func (b *Boilerplate) Rows() (count int, latest time.Time) {
	if b == nil {
		return 0, time.Time{}
	}
	return b.count, b.latest
}

// Has tells whether a row for a clean sentence of a publisher exists. It is false if the last such row ends
// the sentence.
func (b *Boilerplate) Has(publisher, clean string) bool {
	return b != nil && b.matches(text.AppendNormalised(nil, clean), article.Origin{Publisher: publisher})
}

// matches tells whether a normalised sentence of a record is boilerplate.
func (b *Boilerplate) matches(normalised []byte, from article.Origin) bool {
	all, own := false, false
	for _, row := range b.rows[string(normalised)] {
		if !from.Time.IsZero() && row.from.After(from.Time) {
			continue
		}
		switch row.publisher {
		case AllPublishers:
			all = !row.end
		case cmp.Or(from.Publisher, NoPublisher):
			own = !row.end
		}
	}
	return all || own
}

// withoutBoilerplate returns a clean text without the sentences that the table lists for the record. A line
// that becomes empty vanishes.
func (f *Finder) withoutBoilerplate(clean string, from article.Origin) string {
	if f.boilerplate == nil {
		return clean
	}
	cut := cutter{out: f.kept[:0], clean: clean}
	for start, end := range sentencesOf(clean) {
		f.sentence = text.AppendNormalised(f.sentence[:0], clean[start:end])
		if f.boilerplate.matches(f.sentence, from) {
			cut.leaveOut(start, end)
		}
	}
	f.kept = cut.out
	return cut.rest()
}

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
	for start, end := range sentencesOf(clean) {
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
