package figures

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Reasons of a Judgement for which no test of the second check was made.
const (
	ReasonNotFound = "not found" // no look-up for the later article finds the earlier one
	ReasonNoText   = "no text"   // one of the two articles has no text
)

// Judgement is the verdict of the service on two articles within one window.
type Judgement struct {
	Flagged   bool   // the later article is published as a copy
	Possible  bool   // they look alike, but not enough; never with Flagged
	Published bool   // flagged, but the policy sends the later article to another topic than that of duplicates
	Candidate bool   // a look-up for the later article finds the earlier one
	Distance  int    // between the fingerprints, in bits
	Relation  string // of the later article to the earlier one, if it is flagged or possible; otherwise "none"
	Reason    string // the test that decided, as in the header echosieve-reason, or one of the reasons above
}

// Judge judges the later of two articles against the earlier one. Safe for concurrent use.
type Judge func(later, earlier article.Article) Judgement

// ByRecipe returns the rule of the service, and its policy.
func ByRecipe(rule article.Rule, plan lookup.Plan, policy article.Policy) Judge {
	return func(later, earlier article.Article) Judgement {
		if later.Empty || earlier.Empty {
			return Judgement{Reason: ReasonNoText}
		}
		out := Judgement{Distance: simhash.Distance(later.Fingerprint, earlier.Fingerprint), Reason: ReasonNotFound}
		if plan.Finds(&later, &earlier) {
			decided := plan.Judge(&rule, &later, &earlier)
			out.Flagged, out.Possible, out.Candidate = decided.Kind.IsCopy(), decided.Kind == article.Possible, true
			out.Published = out.Flagged && policy.Destination(decided) != article.ToDuplicate
			out.Reason, out.Relation = decided.Reason.String(), decided.Relation.String()
		}
		return out
	}
}
