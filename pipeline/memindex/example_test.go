package memindex_test

import (
	"context"
	"fmt"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
)

// Verdicts in one process: a recipe makes the fingerprints, an index in memory compares them.
func Example() {
	made, err := recipe.Load(recipe.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	index := memindex.New(memindex.Config{
		Window: 7 * 24 * time.Hour, Slices: 2, Search: made.Search(), Policy: article.DefaultPolicy(),
	})
	for i, text := range []string{
		"The council of the town met on Monday and agreed on the budget of the coming year. The mayor said that two " +
			"schools, a bridge over the river and the swimming hall will be repaired for 14 million in all.",
		"By our own reporter. The council of the town met on Monday and agreed on the budget of the coming year. The " +
			"mayor said that two schools, a bridge over the river and the swimming hall will be repaired for 14 million in all.",
		"A storm damaged forty houses on the coast at night; nobody was hurt, and the railway runs again since noon.",
	} {
		a, _ := made.Fingerprint(text, article.Origin{})
		a.Coordinates, a.Time = article.Coordinates{Topic: "news", Offset: int64(i)}, time.Unix(1_800_000_000, 0)
		a.ID = a.String()
		verdicts, err := index.Claim(context.Background(), []article.Article{a})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.ID, "is", verdicts[0].Kind, "of", verdicts[0].Root.ID)
	}
	// Output:
	// news/0/0 is unique of news/0/0
	// news/0/1 is near of news/0/0
	// news/0/2 is unique of news/0/2
}
