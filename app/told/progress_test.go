package told

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// MostFound is mostFound, for the tests that import packages which import this one.
const MostFound = mostFound

func TestProgress(t *testing.T) {
	var p progress
	require.Empty(t, p.line(time.Minute), "nothing was read yet")
	p.step(article.Coordinates{Topic: "articles-unique", Partition: 3}, 50, 200)
	p.step(article.Coordinates{Topic: "articles-unique", Partition: 3}, 51, 200)
	require.Equal(t, "searching articles-unique/3: 25% (2 records so far)", p.line(time.Minute))
}
