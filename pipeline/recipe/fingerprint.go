package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/limits"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
	"echosieve/simhash"
)

// Timing says how long the stages took for one article. Fingerprint includes the digest.
type Timing struct {
	Clean, Segment, Fingerprint time.Duration
}

// Fingerprint makes an article of a text of any size, UTF-8 or not, with or without markup. It sets all
// fields except Coordinates, ID and Time, and never fails. Memory and time are linear in the length of the
// text. from decides which sentences are left out, and is part of the signature.
func (r *Recipe) Fingerprint(raw string, from article.Origin) (article.Article, Timing) {
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	if r.classic != nil {
		return r.fingerprintClassic(s, raw)
	}

	start := time.Now()
	clean, costly := s.cleanText(raw)
	if costly {
		return article.Article{Empty: true, TooCostly: true, CleanBytes: len(clean)}, Timing{Clean: time.Since(start)}
	}
	body, left := s.page.Find(raw, clean, from, r.rows)
	cleaned := time.Now()
	s.cutWords(r.segmenter, body)
	segmented := time.Now()
	s.words.Weigh()
	s.features = s.words.AppendFeatures(s.features)
	hashes, repeated := s.page.Sentences()
	sentences := slices.Clone(hashes)
	if len(repeated) > 0 && len(s.features) < limits.MinFeatures { // too little is left: the article is compared whole
		s.forget()
		body, left = s.page.Find(raw, clean, from, nil)
		s.cutWords(r.segmenter, body)
		s.words.Weigh()
		s.features = s.words.AppendFeatures(s.features)
	}
	sums := new(simhash.Sums)
	a := article.Article{
		SimHash: simhash.SumWeights(s.features, sums), Features: len(s.features), CleanBytes: len(clean),
		RepeatedBytes: left.Repeated, FurnitureBytes: left.Furniture, CostlyPage: left.Costly,
		Script: text.MainScript(body), Sentences: sentences,
	}
	title := string(text.AppendNormalised(s.clean[:0], text.Clean(from.Title)))
	also := ""
	if s.signature.Short() {
		also = title
	}
	publisher := r.publisherOf(from)
	if named, alone := r.never.Names(publisher); named { // equal texts of others have another digest
		if also += "\x00" + publisher; alone {
			also += from.URL + strconv.FormatInt(from.Time.UnixMilli(), 10)
		}
	}
	r.writeDigest(s, &a, clean, also, sums)
	if !a.LittleText {
		r.writeSignature(s, &a, body, publisher, title, left.Head, from)
	}
	return a, Timing{
		Clean:       cleaned.Sub(start),
		Segment:     segmented.Sub(cleaned),
		Fingerprint: time.Since(segmented),
	}
}

// writeSignature sets the anchors and the signature of an article whose words are weighed. publisher is that of
// publisherOf, title is normalised, head is that of page.Left.
func (r *Recipe) writeSignature(s *scratch, a *article.Article, body, publisher, title string, head int,
	from article.Origin,
) {
	s.signature.AddNumbers(body, head)
	s.signature.SetOrigin(publisher, from.URL, title,
		evidence.IsCorrection(from.Title) || evidence.IsCorrection(body))
	a.Anchors = s.signature.AppendAnchors(make([]uint64, 0, r.config.Anchors), r.config.Anchors)
	// s.sequence holds the words since the last spill only. A flash is so short that nothing was spilled,
	// unless a few words are repeated thousands of times.
	if a.Features < limits.FlashFeatures {
		a.Signature = s.signature.AppendFlash(nil, s.sequence)
		return
	}
	for hash, count := range s.words.MainWords {
		s.signature.AddMainWord(hash, count)
	}
	a.Signature = s.signature.Append(nil)
}

// publisherOf returns the publisher as verdicts see it: unknown if it carries other publishers' articles.
func (r *Recipe) publisherOf(from article.Origin) string {
	name := article.PublisherOf(from.Publisher, from.URL)
	if slices.Contains(r.config.Carriers, name) || slices.Contains(r.config.Carriers, AllCarry) {
		return ""
	}
	return name
}

// fingerprintClassic is Fingerprint for the classic recipes. They fingerprint the raw text and have neither
// anchors nor a signature. Their digest is that of the recipe news, but without titles.
func (r *Recipe) fingerprintClassic(s *scratch, raw string) (article.Article, Timing) {
	start := time.Now()
	words := r.classic.Weights(raw)
	for _, w := range words {
		s.features = append(s.features, simhash.Feature{Hash: w.Hash, Weight: w.Weight})
	}
	sums := new(simhash.Sums)
	simhash.SumWeights(s.features, sums)
	fingerprinted := time.Now()

	clean, _ := s.cleanText(raw)
	a := article.Article{SimHash: classic.Sum(words), Features: len(words), CleanBytes: len(clean),
		Script: text.MainScript(clean)}
	r.writeDigest(s, &a, clean, "", sums)
	return a, Timing{Clean: time.Since(fingerprinted), Fingerprint: fingerprinted.Sub(start)}
}

// Weights returns the features of a text, the heaviest first. from is that of Fingerprint.
func (r *Recipe) Weights(raw string, from article.Origin) []text.WeightedWord {
	words := []text.WeightedWord{}
	if r.classic != nil {
		for _, w := range r.classic.Weights(raw) {
			words = append(words, text.WeightedWord{Word: w.Text, Count: w.Count, IDF: w.IDF, Weight: w.Weight,
				Hash: w.Hash})
		}
	} else {
		s := r.scratch.Get().(*scratch)
		defer r.release(s)
		body, _ := s.page.Find(raw, text.Clean(raw), from, r.rows)
		s.cutWords(r.segmenter, body)
		s.words.Weigh()
		words = s.words.Weights()
	}
	slices.SortFunc(words, func(a, b text.WeightedWord) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Word, b.Word))
	})
	return words
}

// scratch holds the buffers for one text. They are used again for the next text.
type scratch struct {
	clean     []byte // the clean text, then what the digest covers
	page      *page.Finder
	cut       []string
	words     *text.Counter
	sequence  []uint64 // hashes of the words of the last tally that hold a letter or digit, in order
	features  []simhash.Feature
	signature evidence.Builder
}

// maxScratch is the number of words up to which the buffers are kept. The buffers of a larger text are left
// to the garbage collector: otherwise one book would hold its memory for as long as the process runs.
const maxScratch = 1 << 14

func (r *Recipe) release(s *scratch) {
	if cap(s.cut) > 2*maxScratch || s.words.Cap() > maxScratch || max(cap(s.clean), s.page.Cap()) > 16*maxScratch {
		return
	}
	s.forget()
	r.scratch.Put(s)
}

// forget empties the buffers for the words of a text.
func (s *scratch) forget() {
	s.words.Reset()
	s.signature.Reset()
	s.features = s.features[:0]
}

// Repeated returns the sentences of a text that are left out because its publisher repeats them. from is that of
// Fingerprint.
func (r *Recipe) Repeated(raw string, from article.Origin) []page.Repeated {
	if r.classic != nil {
		return nil
	}
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	s.page.Find(raw, text.Clean(raw), from, r.rows)
	_, repeated := s.page.Sentences()
	return slices.Clone(repeated)
}

// Sentence returns the clean sentence of a text with a hash of Article.Sentences.
func (r *Recipe) Sentence(raw string, hash uint64) string {
	s := r.scratch.Get().(*scratch)
	defer r.release(s)
	return s.page.Sentence(raw, text.Clean(raw), hash)
}

// cleanText returns the clean text, or some of it and true if it would cost too much: see text.AppendClean.
func (s *scratch) cleanText(raw string) (clean string, costly bool) {
	s.clean, costly = text.AppendClean(slices.Grow(s.clean[:0], len(raw)+digestBytes), raw)
	return string(s.clean), costly
}

// cutWords gives the words of an article to the counter and the signature, most of a long text while it is cut.
func (s *scratch) cutWords(segmenter *text.Segmenter, body string) {
	s.cut = s.tally(segmenter.Cut(s.cut[:0], body, s.tally))
}

// tally gives more words of the text to its counter and its signature. It returns cut, emptied.
func (s *scratch) tally(cut []string) []string {
	s.sequence = s.words.Add(cut)
	s.signature.Add(s.sequence)
	clear(cut) // they hold references to the text
	return cut[:0]
}

// digestBytes is how many bytes writeDigest appends to the normalised text.
const digestBytes = 1 + 8

// writeDigest sets the fields of an article that follow from its clean text, its SimHash and its number of features:
// LittleText, Empty, Digest, Fingerprint and Sums.
//
// The digest covers the SimHash beside the normalised text, because the index finds exact copies by
// fingerprint: equal digests must mean equal fingerprints. Punctuation is not part of the normalised text but
// can decide where words end, so two texts with the same normalised text can have distant fingerprints. They
// are no exact copies for the index. also is what equal texts must have in common, too, such as the title of a short
// one: "will be updated" stands under many titles.
func (r *Recipe) writeDigest(s *scratch, a *article.Article, clean, also string, sums *simhash.Sums) {
	s.clean = text.AppendNormalised(s.clean[:0], clean)
	if a.LittleText = a.Features == 0; r.classic == nil {
		a.LittleText = a.Features < limits.MinFeatures
	}
	a.Empty = len(s.clean) == 0
	a.Fingerprint = a.SimHash
	if also != "" && !a.Empty {
		s.clean = append(append(s.clean, 0), also...)
	}
	if !a.LittleText {
		a.Sums = sums
		s.clean = binary.BigEndian.AppendUint64(append(s.clean, 0), uint64(a.SimHash))
	}
	sum := sha256.Sum256(s.clean)
	a.Digest = article.Digest(sum[:])
	if a.LittleText {
		a.Fingerprint = simhash.Fingerprint(binary.BigEndian.Uint64(a.Digest[:]))
	}
}
