package memindex_test

import (
	"context"
	"fmt"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
)

// Is this a copy?
func Example() {
	news, err := recipe.Load(recipe.DefaultConfig())
	if err != nil {
		panic(err)
	}
	index := memindex.New(memindex.Config{Window: 24 * time.Hour, Generations: 4, Search: news.Search()})
	for i, text := range []string{
		"The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which was " +
			"closed in March after a barge struck one of its piers.",
		"Researchers at the college of agriculture said that a new variety of barley needs a third less water " +
			"than those that are grown today in the dry valley.",
		"RIVERTON (Press) - The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour " +
			"bridge, which was closed in March after a barge struck one of its piers.",
	} {
		a, _ := news.Fingerprint(text, article.Origin{})
		a.Coordinates, a.ID, a.Time = article.Coordinates{Topic: "news", Offset: int64(i)}, fmt.Sprint("article-", i),
			time.Now()
		verdicts, err := index.Claim(context.Background(), []article.Article{a})
		fmt.Println(a.ID, verdicts[0].Kind, verdicts[0].Original.ID, err)
	}
	// Output:
	// article-0 unique  <nil>
	// article-1 unique  <nil>
	// article-2 near article-0 <nil>
}
