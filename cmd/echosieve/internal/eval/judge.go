package eval

import "echosieve/pipeline"

// Judgement is what the service would make of two articles inside one window.
type Judgement struct {
	Flagged   bool // the later one is published as a copy
	Possible  bool // they look alike, but not enough; never with Flagged
	Candidate bool // a look-up for the later one meets the earlier one
}

// Judge tells what the later of two articles is to the earlier one. Safe for concurrent use.
type Judge func(later, earlier pipeline.Article) Judgement

// ByRecipe is the rule of the service.
func ByRecipe(search pipeline.Search) Judge {
	return func(later, earlier pipeline.Article) Judgement {
		if later.Empty || earlier.Empty || !search.Finds(&later, &earlier) {
			return Judgement{}
		}
		kind := search.Compare(&later, &earlier).Kind
		return Judgement{Flagged: kind.IsCopy(), Possible: kind == pipeline.Possible, Candidate: true}
	}
}
