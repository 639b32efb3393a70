package text

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// countedWord is one of the different words of a text.
type countedWord struct {
	text  string
	hash  uint64
	count int32
	idf   float32 // 0 of a stop word, which is no feature
	// unlisted is how a word was cut that is neither Chinese nor ASCII: no table has such words.
	unlisted scriptKind
}

// functionWord is one of the different words of a text with the languages of which it is a function word.
type functionWord struct {
	*countedWord
	of languages
}

// weight is TF-IDF. The count is not damped, because full counts find more copies. They also bring different
// articles near that share one very frequent word; the second check tells these apart.
func (w *countedWord) weight() float64 {
	switch w.unlisted {
	case cutInPairs:
		return float64(w.idf) // the runs that are frequent in an article are frequent in all
	case cutAtSpaces: // no table says which words of the language are frequent everywhere: a high count tells less
		return math.Sqrt(float64(w.count)) * float64(w.idf)
	}
	return float64(w.count) * float64(w.idf)
}

// WeightedWord is one feature of a text, for tools that explain a fingerprint.
type WeightedWord struct {
	Word   string  // in a script without spaces, the end of a run of three characters
	Count  int     // how often it occurs
	IDF    float64 // how rare it is in news: the natural logarithm of (all articles / articles with the word)
	Weight float64 // as it counts in the SimHash
	Hash   uint64  // as it counts in the SimHash
}

// AppendFeatures appends the words, after Weigh, as they count in the SimHash.
func (c *Counter) AppendFeatures(dst []simhash.Feature) []simhash.Feature {
	dst = slices.Grow(dst, len(c.words))
	for i := range c.words {
		if w := &c.words[i]; w.idf != 0 {
			dst = append(dst, simhash.Feature{Hash: w.hash, Weight: w.weight()})
		}
	}
	return dst
}

// Weights returns the words, after Weigh, in the order of the text.
func (c *Counter) Weights() []WeightedWord {
	words := make([]WeightedWord, 0, len(c.words))
	for _, w := range c.words {
		if w.idf != 0 {
			words = append(words, WeightedWord{Word: w.text, Count: int(w.count), IDF: float64(w.idf),
				Weight: w.weight(), Hash: w.hash})
		}
	}
	return words
}

// slotSeed differs from process to process. With a known seed, an article could be made of words that all
// belong into one slot, which would take quadratic time.
var slotSeed = rand.Uint64() | 1

// Counter counts and weighs the words of one text. Not for concurrent use. It keeps its buffers for the next text.
type Counter struct {
	terms *Terms
	words []countedWord
	// open addressing by hash: index into words plus 1, 0 = free; a power of two long, at most half full
	slots    []int32
	sequence []uint64
	function []functionWord
}

// maxWords is how many different words of a text count: the first ones. A book has 20,000.
const maxWords = 1 << 16

// NewCounter returns a Counter that weighs words by terms.
func NewCounter(terms *Terms) *Counter { return &Counter{terms: terms, slots: make([]int32, 1<<10)} }

// Add counts more words of the text, in their order. It returns the hashes of those that hold a letter or
// digit, as the signature sees them; the slice is valid until the next call.
func (c *Counter) Add(cut []string) (sequence []uint64) {
	c.sequence = c.sequence[:0]
	previous := uint64(0)
	for _, text := range cut {
		if text[len(text)-1] == '.' {
			text = strings.TrimRight(text, ".") // jieba leaves the full stop with a number
		}
		if !isWord(text) {
			continue
		}
		own := c.terms.shapes.hash(text)
		hash := own
		if c := text[0]; c >= 0xe0 && c <= 0xe3 { // only here begin scripts that are cut in pairs
			hash = inContext(text, own, previous)
		}
		c.sequence = append(c.sequence, hash)
		previous = own
		if isSingle(text) || hash != own && c.terms.of(own) == 0 { // or a stop word
			continue
		}
		slot := c.slot(hash)
		if *slot != 0 {
			c.words[*slot-1].count++
			continue
		}
		if len(c.words) == maxWords {
			continue
		}
		c.words = append(c.words, countedWord{text: text, hash: hash, count: 1})
		*slot = int32(len(c.words))
		if 2*len(c.words) > len(c.slots) {
			c.slots = make([]int32, 2*len(c.slots))
			for i := range c.words {
				*c.slot(c.words[i].hash) = int32(i + 1)
			}
		}
	}
	return c.sequence
}

// Cap is the number of words that the buffers of the Counter hold.
func (c *Counter) Cap() int { return cap(c.words) }

// Reset prepares the Counter for the next text.
func (c *Counter) Reset() {
	clear(c.words) // they hold references to the text
	clear(c.slots)
	clear(c.function)
	c.words = c.words[:0]
}

// slot returns the slot of the word with this hash, or the free one where it belongs.
func (c *Counter) slot(hash uint64) *int32 {
	mask := uint64(len(c.slots) - 1)
	at := hash * slotSeed >> bits.LeadingZeros64(mask)
	for c.slots[at] != 0 && c.words[c.slots[at]-1].hash != hash {
		at = (at + 1) & mask
	}
	return &c.slots[at]
}

// Weigh sets the weight of each word, after the last Add. The first loop only fetches the entries, so that the cache
// misses overlap: none waits for a decision about the word before.
func (c *Counter) Weigh() {
	for i := range c.words {
		c.words[i].idf = c.terms.startOf(c.words[i].hash).idf
	}
	for i := range c.words {
		idf := c.terms.of(c.words[i].hash)
		switch first := c.words[i].text[0]; {
		case first >= '0' && first <= '9':
			idf = min(idf, limits.WeakIDF)
		case first < utf8.RuneSelf:
			idf = min(idf, limits.RareIDF)
		case isNumeral(c.words[i].text):
			idf = min(idf, limits.WeakIDF)
		case !beginsHan(first): // no Han character of the basic plane
			if kind, _ := scriptOf(c.words[i].text); kind != cutByJieba && idf != 0 {
				c.words[i].unlisted, idf = kind, unlisted(c.words[i].text, kind)
			}
		}
		c.words[i].idf = idf
	}
	c.weighFunctionWords()
}

// The larger the share of a language's function words in a text, the less they weigh. Up to
// limits.SeldomFunction they keep their weight: names and foreign words reach that share, too, at most 0.06 in
// English news. From limits.OftenFunction on they weigh nothing: most articles have 0.2 to 0.6. In between the
// weight falls evenly, so a copy that lost a few words keeps nearly the same weights.
//
// weighFunctionWords lowers the weight of the function words of the language with the most of them. English and Chinese
// have tables and stop words of their own.
func (c *Counter) weighFunctionWords() {
	all, listed := int32(0), int32(0)
	c.function = c.function[:0]
	for i := range c.words {
		w := &c.words[i]
		all += w.count
		if first := w.text[0]; first >= 'a' && (first < 0xe3 || first > 0xe9) { // neither a number nor kana or Han
			if of := c.terms.functionWords.of(w.hash); of != 0 {
				listed += w.count
				c.function = append(c.function, functionWord{w, of})
			}
		}
	}
	if float32(listed) <= limits.SeldomFunction*float32(all) { // most Chinese texts
		return
	}
	var counts languageCounts
	for _, w := range c.function {
		counts.add(w.of, w.count)
	}
	most, n := counts.most()
	share := float32(n) / float32(max(1, all))
	if share <= limits.SeldomFunction || most == c.terms.functionWords.english {
		return
	}
	worth := max(0, (limits.OftenFunction-share)/(limits.OftenFunction-limits.SeldomFunction))
	for _, w := range c.function {
		if w.of&most != 0 {
			w.idf *= worth
		}
	}
}

// MainWords iterates over the weightiest words of the article, after Weigh, the weightiest first: their
// hashes and how often they occur. Rarity counts more than in the fingerprint, so that names come first:
// reports of one form about different people or places have the same frequent words and other names. A word
// that occurs once is not what the article is about: in a copy, another rare word may take its place.
func (c *Counter) MainWords(yield func(hash uint64, count int32) bool) {
	var scores [limits.MainWords]float32
	var mains [limits.MainWords]*countedWord
	for i := range c.words {
		w := &c.words[i]
		if first := w.text[0]; first >= '0' && first <= '9' || w.idf == 0 {
			continue
		}
		score, at := float32(w.count)*w.idf*w.idf, limits.MainWords
		for at > 0 && (score > scores[at-1] || score == scores[at-1] && w.hash > mains[at-1].hash) {
			at--
		}
		if at < limits.MainWords && !isNumeral(w.text) {
			copy(scores[at+1:], scores[at:])
			copy(mains[at+1:], mains[at:])
			scores[at], mains[at] = score, w
		}
	}
	for _, w := range mains {
		if w == nil || !yield(w.hash, w.count) {
			return
		}
	}
}

// The IDF of words in scripts other than Chinese and ASCII, which no table has. Frequent words are short in
// all languages, so a word gets more the longer it is: with 3 letters 3.5, with 7 letters or more
// limits.RareIDF. Of the runs of characters that stand for words in Japanese, Thai and the like, each belongs
// to many words and gets little; those of hiragana are mostly endings and particles. unlisted is the IDF of a
// word that begins with neither a Han nor an ASCII character. A Hangul syllable counts as two letters.
func unlisted(word string, kind scriptKind) float32 {
	r, _ := utf8.DecodeRuneInString(word)
	letters := utf8.RuneCountInString(word)
	switch {
	case kind == cutInPairs:
		return limits.WeakIDF
	case unicode.Is(unicode.Hangul, r):
		letters *= 2
	}
	return min(limits.RareIDF, limits.LetterIDF*float32(letters)-1)
}

// isNumeral tells whether a word consists of Chinese numerals. Others write it with digits.
func isNumeral(word string) bool {
	for _, r := range word {
		switch r {
		case '〇', '零', '一', '二', '两', '三', '四', '五', '六', '七', '八', '九',
			'十', '百', '千', '万', '亿':
		default:
			return false
		}
	}
	return true
}
