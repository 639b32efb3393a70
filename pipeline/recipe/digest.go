package recipe

import (
	"crypto/sha256"
	"encoding/binary"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// identifyBytes is how many bytes identify appends to the normalised text.
const identifyBytes = 1 + 8

// identify sets the fields of an article that follow from its SimHash, its number of features and s.normalised: LittleText, Empty, Digest,
// Fingerprint and Sums.
//
// The digest covers the SimHash beside the normalised text, because the index finds exact copies by fingerprint: equal digests must mean
// equal fingerprints. Punctuation is not part of the normalised text but can decide where words end, so two texts with the same
// normalised text can have distant fingerprints. They are no exact copies for the index.
func (r *Recipe) identify(s *scratch, a *article.Article, sums *simhash.Sums) {
	a.LittleText = a.Features < r.config.MinFeatures
	a.Empty = len(s.normalised) == 0
	a.Fingerprint = a.SimHash
	if !a.LittleText {
		a.Sums = sums
		s.normalised = binary.BigEndian.AppendUint64(append(s.normalised, 0), uint64(a.SimHash))
	}
	sum := sha256.Sum256(s.normalised)
	a.Digest = article.Digest(sum[:])
	if a.LittleText {
		a.Fingerprint = simhash.Fingerprint(binary.BigEndian.Uint64(a.Digest[:]))
	}
}
