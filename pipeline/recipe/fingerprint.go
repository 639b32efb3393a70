package recipe

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// Timing says how long the stages took for one article. Fingerprint includes the digest.
type Timing struct {
	Clean, Segment, Fingerprint time.Duration
}

// WeightedWord is one feature of a text, for people to look at.
type WeightedWord struct {
	Word   string
	Count  int     // how often it occurs
	IDF    float64 // how rare it is in news: natural logarithm of the inverse share of documents
	Weight float64 // in the SimHash
	Hash   uint64  // in the SimHash
}

// Fingerprint makes the fingerprint of a text of any size, UTF-8 or not, with or without markup.
func (r *Recipe) Fingerprint(text string) (article.Article, Timing) {
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	if r.classic != nil {
		return r.fingerprintClassic(s, text)
	}

	start := time.Now()
	s.clean = appendClean(slices.Grow(s.clean[:0], len(text)), text)
	clean := string(s.clean)
	cleaned := time.Now()
	body := s.body(clean)
	s.cut = r.segmenter.cutScripts(s.cut[:0], body, s.tally) // of a long text, most words are counted here
	segmented := time.Now()

	s.cut = s.tally(s.cut)
	s.weigh(r.terms)
	s.features = slices.Grow(s.features, len(s.words))
	for _, w := range s.words {
		s.features = append(s.features, simhash.Feature{Hash: w.hash, Weight: w.weight()})
	}
	// Nine bytes more are for identify.
	s.normalised = appendNormalised(slices.Grow(s.normalised[:0], len(clean)+9), clean)
	sums := new(simhash.Sums)
	a := article.Article{SimHash: simhash.SumWeights(s.features, sums), Features: len(s.features), CleanBytes: len(clean)}
	r.identify(s, &a, sums)
	if !a.LittleText {
		a.Anchors = s.signature.AppendAnchors(nil, r.config.Anchors)
		if a.Features < r.config.FlashFeatures { // the words tallied last are all, unless they are repeated endlessly
			a.Signature = s.signature.AppendFlash(nil, body, s.sequence)
		} else {
			a.Signature = s.signature.Append(nil, body)
		}
	}
	return a, Timing{
		Clean:       cleaned.Sub(start),
		Segment:     segmented.Sub(cleaned),
		Fingerprint: time.Since(segmented),
	}
}

// Weights returns the features of a text, the heaviest first.
func (r *Recipe) Weights(text string) []WeightedWord {
	if r.classic != nil {
		return r.classicWeights(text)
	}
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	s.cut = s.tally(r.segmenter.cutScripts(s.cut[:0], s.body(Clean(text)), s.tally))
	s.weigh(r.terms)
	words := make([]WeightedWord, len(s.words))
	for i, w := range s.words {
		words[i] = WeightedWord{Word: w.text, Count: int(w.count), IDF: float64(w.idf), Weight: w.weight(), Hash: w.hash}
	}
	sortByWeight(words)
	return words
}

func sortByWeight(words []WeightedWord) {
	slices.SortFunc(words, func(a, b WeightedWord) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Word, b.Word))
	})
}

// scratch holds the buffers for one text, to be used again.
type scratch struct {
	clean      []byte
	lines      bodyScratch
	bodyText   []byte
	cut        []string
	sequence   []uint64 // hashes of the words that hold a letter or digit, in order; those tallied last
	words      []word
	slots      []int32 // open addressing by hash: index into words plus 1, 0 = free; a power of two long, at most half full
	features   []simhash.Feature
	normalised []byte
	signature  signature.Builder
}

type word struct {
	text  string
	hash  uint64
	count int32
	idf   float32
	alien bool // in neither Chinese nor ASCII: no table knows it
}

// weight is TF-IDF, the count not damped: that finds more copies, and what one frequent word brings near without
// reason is for the second check to tell.
func (w *word) weight() float64 {
	if w.alien {
		return damped(w.count, w.idf)
	}
	return float64(w.count) * float64(w.idf)
}

// numberIDF bounds the IDF of words that begin with a digit. Nearly all are missing from the tables, but they say little
// about what a text is about: a line of telephone numbers would outweigh a page. What numbers a text has, its signature
// tells.
const numberIDF = 4

// latinIDF bounds the IDF of words that begin with an ASCII letter. The English table has few articles of one field behind it,
// and jieba's those of Chinese news with an English word: both value a name or a slip of the pen more than the words that a
// text is about, and a copy with a few lines added moved away.
const latinIDF = 8.5

// slotSeed differs from process to process, so that nobody can choose words that all want one slot.
var slotSeed = rand.Uint64() | 1

// maxScratch is the number of words up to which buffers are kept; those of a larger text go to the collector.
const maxScratch = 1 << 14

func newScratch() *scratch { return &scratch{slots: make([]int32, 1<<10)} }

func (r *Recipe) release(s *scratch) {
	if cap(s.cut) > 2*maxScratch || cap(s.words) > maxScratch || cap(s.clean) > 16*maxScratch || cap(s.normalised) > 16*maxScratch {
		return
	}
	clear(s.words) // they hold on to the text
	clear(s.slots)
	s.signature.Reset()
	s.words, s.features = s.words[:0], s.features[:0]
	r.scratch.Put(s)
}

// body returns the part of a clean text that is the article.
func (s *scratch) body(clean string) string {
	text, whole := s.lines.appendBody(s.bodyText[:0], clean)
	if whole {
		return clean
	}
	s.bodyText = text
	return string(text)
}

// tally counts more words of the text: words gets the different terms among them, in the order of their first occurrence.
// It returns cut, emptied.
func (s *scratch) tally(cut []string) []string {
	s.sequence = s.sequence[:0]
	previous := uint64(0)
	for _, text := range cut {
		text = strings.TrimRight(text, ".") // jieba leaves the full stop with a number
		if !isWord(text) {
			continue
		}
		hash := simhash.Hash(text)
		s.sequence = append(s.sequence, inSequence(text, hash, previous))
		previous = hash
		if isSingle(text) {
			continue
		}
		slot := s.slot(hash)
		if *slot != 0 {
			s.words[*slot-1].count++
			continue
		}
		s.words = append(s.words, word{text: text, hash: hash, count: 1})
		*slot = int32(len(s.words))
		if 2*len(s.words) > len(s.slots) {
			s.slots = make([]int32, 2*len(s.slots))
			for i := range s.words {
				*s.slot(s.words[i].hash) = int32(i + 1)
			}
		}
	}
	s.signature.Add(s.sequence)
	clear(cut) // they hold on to the text
	return cut[:0]
}

// slot returns the slot of the word with this hash, or the free one where it belongs.
func (s *scratch) slot(hash uint64) *int32 {
	mask := uint64(len(s.slots) - 1)
	at := hash * slotSeed >> bits.LeadingZeros64(mask)
	for s.slots[at] != 0 && s.words[s.slots[at]-1].hash != hash {
		at = (at + 1) & mask
	}
	return &s.slots[at]
}

// weigh looks up what the words are worth, in a loop of their own so that the cache misses overlap, and drops stop words.
func (s *scratch) weigh(terms *terms) {
	for i := range s.words {
		idf := terms.of(s.words[i].hash)
		if hash := s.words[i].hash; directionBits[hash%(1<<12)] {
			if up, known := directions[hash]; known {
				s.signature.AddDirection(up, int(s.words[i].count))
			}
		}
		switch first := s.words[i].text[0]; {
		case first >= '0' && first <= '9':
			idf = min(idf, numberIDF)
		case first < utf8.RuneSelf:
			idf = min(idf, latinIDF)
		case first < 0xe4 || first > 0xe9: // no Han character of the basic plane
			if kind, _ := scriptOf(s.words[i].text); kind != cutByJieba && idf != 0 {
				s.words[i].alien, idf = true, unlisted(s.words[i].text)
			}
		}
		s.words[i].idf = idf
	}
	s.words = slices.DeleteFunc(s.words, func(w word) bool { return w.idf == 0 })
}
