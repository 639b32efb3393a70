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
	var r Reader
	require.Empty(t, r.line(time.Minute), "nothing was read yet")
	r.progress.Store(&progress{article.Coordinates{Topic: "articles-unique", Partition: 3}, 25, 2})
	require.Equal(t, "searching articles-unique/3: 25% (2 records so far)", r.line(time.Minute))
}
