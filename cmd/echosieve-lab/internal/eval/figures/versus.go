package figures

import "echosieve/pipeline/changes"

// VersusResult says which articles two recipes would drop. An article is dropped if it goes to the topic of copies.
type VersusResult struct {
	Recipes  [2]string    `json:"recipes"`
	Articles int          `json:"articles"`
	Dead     int          `json:"dead"` // no article can be made of the line
	Both     int          `json:"both"`
	Only     [2]int       `json:"only"` // dropped by one recipe and kept by the other
	Neither  int          `json:"neither"`
	Samples  []VersusPair `json:"samples"`

	drops [2][]Dropped
}

// VersusPair is an article that only Recipe drops, and the earlier one that the recipe takes it to repeat.
type VersusPair struct {
	Recipe string `json:"recipe"`
	Beside
}

// Beside is two articles side by side, the earlier one on the left.
type Beside struct {
	Earlier Side          `json:"earlier"`
	Later   Side          `json:"later"`
	Texts   []changes.Run `json:"texts"`
}

// Side is one of two articles that are shown side by side.
type Side struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Publisher string `json:"publisher"`
}

// Dropped is an article that is dropped, by its place in the stream, and its original.
type Dropped struct {
	Group             int // place in Recipes, or in Joins
	Article, Original int
}

// Versus compares the verdicts of two recipes on the same stream.
func Versus(recipes [2]string, verdicts [2][]StreamVerdict) VersusResult {
	r := VersusResult{Recipes: recipes, Articles: len(verdicts[0]), Samples: []VersusPair{}}
	for i, a := range verdicts[0] {
		both := [2]StreamVerdict{a, verdicts[1][i]}
		drops := [2]bool{both[0].Flagged && !both[0].Published, both[1].Flagged && !both[1].Published}
		switch {
		case a.Dead:
			r.Dead++
		case drops[0] && drops[1]:
			r.Both++
		case !drops[0] && !drops[1]:
			r.Neither++
		}
		for by := range drops {
			if drops[by] && !drops[1-by] {
				r.Only[by]++
				r.drops[by] = append(r.drops[by], Dropped{by, i, both[by].Original})
			}
		}
	}
	return r
}

// Sample returns up to n articles of those that only one recipe drops, for each recipe, spread over the stream.
func (r *VersusResult) Sample(n int) (drawn []Dropped) {
	for _, dropped := range r.drops {
		drawn = append(drawn, spread(dropped, n)...)
	}
	return drawn
}

// spread returns up to n of a list, spread over it.
func spread(list []Dropped, n int) (drawn []Dropped) {
	most := min(n, len(list))
	for i := range most {
		drawn = append(drawn, list[i*len(list)/most])
	}
	return drawn
}
