package recipe

import (
	"cmp"
	"slices"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/recipe/marks"
	"echosieve/pipeline/signature"
	"echosieve/simhash"
)

// Timing says how long the stages took for one article. Fingerprint includes the digest.
type Timing struct {
	Clean, Segment, Fingerprint time.Duration
}

// WeightedWord is one feature of a text, for tools that explain a fingerprint.
type WeightedWord struct {
	Word   string
	Count  int     // how often it occurs
	IDF    float64 // how rare it is in news: the natural logarithm of (all articles / articles with the word)
	Weight float64 // as it counts in the SimHash
	Hash   uint64  // as it counts in the SimHash
}

// Fingerprint makes an article of a text of any size, UTF-8 or not, with or without markup. It sets all fields except Coordinates, ID and
// Time, and never fails. Memory and time are linear in the length of the text. from decides which rows of the boilerplate table count.
func (r *Recipe) Fingerprint(text string, from article.Origin) (article.Article, Timing) {
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	if r.classic != nil {
		return r.fingerprintClassic(s, text)
	}

	start := time.Now()
	s.clean = appendClean(slices.Grow(s.clean[:0], len(text)), text)
	clean := string(s.clean)
	body, boilerplateBytes := s.articleOf(r, text, clean, from)
	bodyBytes := len(body)
	body, s.plain = marks.Plain(s.plain, body)
	cleaned := time.Now()
	s.cut = r.segmenter.cutScripts(s.cut[:0], body, s.tally) // counts most words of a long text while it is cut
	segmented := time.Now()

	s.cut = s.tally(s.cut)
	s.weigh(r.terms)
	s.features = slices.Grow(s.features, len(s.words))
	for _, w := range s.words {
		s.features = append(s.features, simhash.Feature{Hash: w.hash, Weight: w.weight()})
	}
	s.normalised = appendNormalised(slices.Grow(s.normalised[:0], len(clean)+identifyBytes), clean)
	sums := new(simhash.Sums)
	a := article.Article{
		SimHash: simhash.SumWeights(s.features, sums), Features: len(s.features), CleanBytes: len(clean),
		BoilerplateBytes: boilerplateBytes, FurnitureBytes: max(0, len(clean)-boilerplateBytes-bodyBytes), Script: mainScript(body),
	}
	r.identify(s, &a, sums)
	if !a.LittleText {
		a.Anchors = s.signature.AppendAnchors(make([]uint64, 0, r.config.Anchors), r.config.Anchors, body)
		// s.sequence holds the words since the last spill only. A flash is so short that nothing was spilled, unless a few words are
		// repeated thousands of times.
		if a.Features < r.config.FlashFeatures {
			a.Signature = s.signature.AppendFlash(nil, body, s.sequence)
		} else {
			s.addMainWords()
			a.Signature = s.signature.Append(nil, body)
		}
	}
	return a, Timing{
		Clean:       cleaned.Sub(start),
		Segment:     segmented.Sub(cleaned),
		Fingerprint: time.Since(segmented),
	}
}

// fingerprintClassic is Fingerprint for the classic recipes. They fingerprint the raw text and have neither anchors nor a signature. Their
// digest is that of the recipe news, so exact copies and little text are the same in all recipes.
func (r *Recipe) fingerprintClassic(s *scratch, text string) (article.Article, Timing) {
	start := time.Now()
	words := r.classic.Weights(text)
	for _, w := range words {
		s.features = append(s.features, simhash.Feature{Hash: w.Hash, Weight: w.Weight})
	}
	sums := new(simhash.Sums)
	simhash.SumWeights(s.features, sums)
	fingerprinted := time.Now()

	s.clean = appendClean(s.clean[:0], text)
	s.normalised = appendNormalised(s.normalised[:0], string(s.clean))
	a := article.Article{SimHash: classic.Sum(words), Features: len(words), CleanBytes: len(s.clean), Script: mainScript(string(s.clean))}
	r.identify(s, &a, sums)
	return a, Timing{Clean: time.Since(fingerprinted), Fingerprint: fingerprinted.Sub(start)}
}

func (r *Recipe) classicWeights(text string) []WeightedWord {
	words := []WeightedWord{}
	for _, w := range r.classic.Weights(text) {
		words = append(words, WeightedWord{Word: w.Text, Count: w.Count, IDF: w.IDF, Weight: w.Weight, Hash: w.Hash})
	}
	sortByWeight(words)
	return words
}

// Weights returns the features of a text, the heaviest first. from is that of Fingerprint.
func (r *Recipe) Weights(text string, from article.Origin) []WeightedWord {
	if r.classic != nil {
		return r.classicWeights(text)
	}
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	body, _ := s.articleOf(r, text, Clean(text), from)
	body, s.plain = marks.Plain(s.plain, body)
	s.cut = s.tally(r.segmenter.cutScripts(s.cut[:0], body, s.tally))
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

// scratch holds the buffers for one text. They are used again for the next text.
type scratch struct {
	shapes     *shapes
	clean      []byte
	lines      bodyScratch
	bodyText   []byte
	plain      []byte // the body, see marks.Plain
	kept       []byte // the clean text without boilerplate sentences
	sentence   []byte // one of its sentences, normalised
	cut        []string
	sequence   []uint64 // hashes of the words of the last tally that hold a letter or digit, in order
	words      []word
	slots      []int32 // open addressing by hash: index into words plus 1, 0 = free; a power of two long, at most half full
	features   []simhash.Feature
	normalised []byte
	signature  signature.Builder
}

// maxScratch is the number of words up to which the buffers are kept. The buffers of a larger text are left to the garbage collector:
// otherwise one book would hold its memory for as long as the process runs.
const maxScratch = 1 << 14

func newScratch(shapes *shapes) *scratch {
	return &scratch{shapes: shapes, slots: make([]int32, 1<<10)}
}

func (r *Recipe) release(s *scratch) {
	if cap(s.cut) > 2*maxScratch || cap(s.words) > maxScratch || cap(s.clean) > 16*maxScratch || cap(s.normalised) > 16*maxScratch ||
		cap(s.kept) > 16*maxScratch || cap(s.sentence) > 16*maxScratch || cap(s.plain) > 16*maxScratch {
		return
	}
	clear(s.words) // they hold references to the text
	clear(s.slots)
	s.signature.Reset()
	s.words, s.features = s.words[:0], s.features[:0]
	r.scratch.Put(s)
}

// articleOf returns the part of a text that is the article, clean, and how many bytes are left out of it because of the boilerplate table.
func (s *scratch) articleOf(r *Recipe, text, clean string, from article.Origin) (body string, boilerplateBytes int) {
	if r.config.HTML == HTMLArticle && isPage(text) {
		if found := mainContent(text); found != "" {
			clean = Clean(found)
		}
	}
	kept := s.withoutBoilerplate(r.boilerplate, clean, from)
	return s.body(kept), len(clean) - len(kept)
}

// body returns a clean text without the lines around the article.
func (s *scratch) body(clean string) string {
	text, whole := s.lines.appendBody(s.bodyText[:0], clean)
	if whole {
		return clean
	}
	s.bodyText = text
	return string(text)
}
