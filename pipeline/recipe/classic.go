package recipe

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/simhash"
)

// fingerprintClassic is Fingerprint for the classic recipes. They fingerprint the raw text and have no signature. Exact
// copies and little text are told as in the recipe news.
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
	a := article.Article{SimHash: classic.Sum(words), Features: len(words), CleanBytes: len(s.clean)}
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

// identify fills in what follows from the normalised text and the SimHash: digest, fingerprint, sums.
func (r *Recipe) identify(s *scratch, a *article.Article, sums *simhash.Sums) {
	a.LittleText = a.Features < r.config.MinFeatures
	a.Empty = len(s.normalised) == 0
	a.Fingerprint = a.SimHash
	if !a.LittleText {
		a.Sums = sums
		// Punctuation is not in the normalised text but can decide where words end. The index finds articles by
		// fingerprint, so equal digests must mean equal fingerprints.
		s.normalised = binary.BigEndian.AppendUint64(append(s.normalised, 0), uint64(a.SimHash))
	}
	sum := sha256.Sum256(s.normalised)
	a.Digest = article.Digest(sum[:])
	if a.LittleText {
		a.Fingerprint = simhash.Fingerprint(binary.BigEndian.Uint64(a.Digest[:]))
	}
}
