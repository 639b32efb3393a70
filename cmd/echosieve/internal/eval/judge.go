package eval

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Reasons of a Judgement that no test of the second check gave.
const (
	ReasonNotFound = "not found" // no look-up meets the earlier article
	ReasonNoText   = "no text"   // of one of the two
)

// Judgement is what the service would make of two articles inside one window.
type Judgement struct {
	Flagged   bool   // the later one is published as a copy
	Possible  bool   // they look alike, but not enough; never with Flagged
	Candidate bool   // a look-up for the later one meets the earlier one
	Distance  int    // between the fingerprints, in bits
	Reason    string // the test that decided, as in the header echosieve-reason, or one of the above
}

// Judge tells what the later of two articles is to the earlier one. Safe for concurrent use.
type Judge func(later, earlier article.Article) Judgement

// ByRecipe is the rule of the service.
func ByRecipe(rule article.Rule, plan lookup.Plan) Judge {
	return func(later, earlier article.Article) Judgement {
		if later.Empty || earlier.Empty {
			return Judgement{Reason: ReasonNoText}
		}
		out := Judgement{Distance: simhash.Distance(later.Fingerprint, earlier.Fingerprint), Reason: ReasonNotFound}
		if plan.Finds(&later, &earlier) {
			decided := rule.Compare(&later, &earlier)
			out.Flagged, out.Possible, out.Candidate = decided.Kind.IsCopy(), decided.Kind == article.Possible, true
			out.Reason = decided.Reason.String()
		}
		return out
	}
}
