package compare

import (
	"fmt"

	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/signature"
)

// compareSignature holds the measures by which the second check judges two articles.
type compareSignature struct {
	Similarity     float64 `json:"similarity"`      // estimated share of word pairs in common
	Containment    float64 `json:"containment"`     // estimated share of the shorter text's word pairs that the longer one has
	Contained      float64 `json:"contained"`       // estimated share of B's word pairs that A has
	Contains       float64 `json:"contains"`        // estimated share of A's word pairs that B has
	WordPairs      int     `json:"word_pairs"`      // estimated count in the shorter text
	SharedPlaces   int     `json:"shared_places"`   // sampled places with a number that both have
	Contradictions int     `json:"contradictions"`  // sampled places with different numbers
	Numbers        int     `json:"numbers"`         // estimated count of different numbers, in the text that has fewer
	NumbersShared  int     `json:"numbers_in_both"` // estimated count of different numbers that both texts have
	Longer         float64 `json:"longer"`          // how many times as many word pairs the longer text has
	Beginning      float64 `json:"beginning"`       // estimated share of the beginning of one text that stands in the other text
	Opposite       bool    `json:"opposite"`        // in one text something rises, in the other it falls
	OtherSubject   bool    `json:"other_subject"`   // each text is about a word that is none of the main words of the other
	NewMainWords   int     `json:"new_main_words"`  // how many of the eight main words of one text are no main words of the other
	SameMainWords  bool    `json:"same_main_words"` // the five main words of one text are main words of the other
	Reworded       bool    `json:"reworded"`        // one text is the other one in other words: the same numbers, and most main words
	Flash          bool    `json:"flash,omitempty"` // similarity and containment count words as well, and are almost exact
}

// compareSignatures returns nil if one of the two has no signature.
func compareSignatures(a, b []byte) *compareSignature {
	x, _ := signature.Decode(a)
	y, _ := signature.Decode(b)
	c := signature.Compare(&y, &x) // B comes later
	if !c.Known {
		return nil
	}
	return &compareSignature{
		Similarity: c.J, Containment: c.Containment, Contained: c.Contained, Contains: c.Contains, WordPairs: int(c.Bigrams), SharedPlaces: c.SharedContexts,
		Contradictions: c.Contradictions, Numbers: c.LeastValues, NumbersShared: c.CommonValues, Longer: c.Longer, Beginning: c.Lead,
		Opposite: c.Opposite, OtherSubject: c.OtherSubject, NewMainWords: c.OtherMain, SameMainWords: c.SameForemost,
		Reworded: c.Reworded(), Flash: c.Flash,
	}
}

// explain sets Verdict, one word, and Explanation, one sentence.
func (c *Comparison) explain(j article.Judgement, cfg recipe.Config) {
	c.Verdict = "different"
	if j.Kind != 0 {
		c.Verdict = j.Kind.String()
	}
	var why string
	switch j.Reason {
	case article.ReasonDigest:
		c.Explanation = "Exact copy: after cleaning, and apart from spaces and punctuation, the texts are the same."
		return
	case article.ReasonDistance:
		why = fmt.Sprintf("the fingerprints differ in %d bits, at most %d are allowed (detection.max_distance).", c.Distance, c.MaxDistance)
		if c.Distance <= c.MaxDistance {
			why = fmt.Sprintf("the fingerprints differ in %d bits; at this distance the service compares only texts of which one contains the other, or is the other one reworded, and that share an anchor (detection.anchors).", c.Distance)
		}
	case article.ReasonOverlap:
		why = c.Signature.explainOverlap(j.Kind, cfg.Thresholds)
	case article.ReasonNumbers:
		why = fmt.Sprintf("in %d of %d places that both have, the numbers differ (detection.contradictions).", c.Signature.Contradictions, c.Signature.SharedPlaces)
	case article.ReasonValues:
		why = fmt.Sprintf("only %d of %d numbers are in both (detection.values).", c.Signature.NumbersShared, c.Signature.Numbers)
	case article.ReasonLittle:
		why = "of a text with so few different words only the same text is a copy (detection.min_features), or one that contains it and little more (detection.flash_features)."
	case article.ReasonShort:
		why = fmt.Sprintf("for texts as short as these, %.0f %% of word pairs in common is too little (detection.short_near).", 100*c.Signature.Similarity)
	case article.ReasonLead:
		why = fmt.Sprintf("they share %d of %d numbers, and only %.0f %% of the beginning of one stands in the other: other reports above the same text.",
			c.Signature.NumbersShared, c.Signature.Numbers, 100*c.Signature.Beginning)
	case article.ReasonOpposite:
		why = "in one of them something rises and nothing falls, and in the other something falls and nothing rises."
	case article.ReasonSubject:
		if !c.Signature.OtherSubject {
			why = fmt.Sprintf("they are equally long and have most words in common, but %d of their eight main words differ: other names in the same text.",
				c.Signature.NewMainWords)
			break
		}
		why = "each has a word, such as a name, among the two that weigh most in it, and this word is none of the eight that weigh most in the other."
	case article.ReasonUnknown:
		why = "there is no signature to compare."
	case article.ReasonNone:
		c.Verdict = "empty"
		c.Explanation = "No verdict: cleaning leaves no letter and no digit, so the record becomes a dead letter."
		return
	}
	why += relationSentence(j.Relation)
	switch j.Kind {
	case article.Near:
		c.Explanation = "Near copy: " + why
	case article.Possible:
		c.Explanation = "Possibly a copy, published as unique with a mark: " + why
	default:
		c.Explanation = "Not a copy: " + why
	}
	if j.Kind == article.Near && c.Topic != article.ToDuplicate.String() {
		c.Explanation += fmt.Sprintf(" The policy sends it to the topic %s.", c.Topic)
	}
	if j.Kind.IsCopy() && !c.Found {
		c.Explanation += " But the service would not notice: its look-ups do not find one from the other (detection.probes, detection.anchors)."
	}
}

// relationSentence says what B is to A.
func relationSentence(r article.Relation) string {
	switch r {
	case article.Equal:
		return " Neither has words of its own to speak of."
	case article.Contained:
		return " B is contained in A."
	case article.Extends:
		return " B contains A and has more."
	case article.Revises:
		return " B revises A: both have the same id, or B corrects a figure of A."
	case article.Overlaps:
		return " Each has words that the other lacks."
	default:
		return ""
	}
}

// explainOverlap returns why the share of common words decided.
func (s *compareSignature) explainOverlap(kind article.Kind, t signature.Thresholds) string {
	switch {
	case s.Flash && kind == article.Near:
		return "the texts are flashes, and one contains the other with all its numbers."
	case s.Flash:
		return fmt.Sprintf("they share %.0f %% of their words and word pairs; flashes that may be copies share 60 %% or more.", 100*s.Similarity)
	case kind == article.Near && s.Reworded && s.Similarity < t.Vouched:
		return fmt.Sprintf("they share only %.0f %% of their word pairs, but all numbers and most main words: one text is the other one reworded.", 100*s.Similarity)
	case kind == article.Near && s.Similarity < t.Near:
		return fmt.Sprintf("they share %.0f %% of their word pairs, and their numbers agree (detection.vouched) or one contains the other (detection.possible).",
			100*s.Similarity)
	default:
		return fmt.Sprintf("they share %.0f %% of their word pairs; a copy has %.0f %% or more (detection.near), a possible one %.0f %% (detection.possible).",
			100*s.Similarity, 100*t.Near, 100*t.Possible)
	}
}
