package deploy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
)

func TestOutputDocumentationNamesEveryHeader(t *testing.T) {
	doc := string(read(t, "docs/output.md"))
	for _, header := range []string{
		pipeline.HeaderVerdict, pipeline.HeaderFingerprint, pipeline.HeaderDistance, pipeline.HeaderOriginalID,
		pipeline.HeaderOriginal, pipeline.HeaderRootID, pipeline.HeaderRoot, pipeline.HeaderSource,
		pipeline.HeaderRecipe, pipeline.HeaderReason, pipeline.HeaderDetail, pipeline.HeaderValueOmitted,
	} {
		require.Contains(t, doc, "| `"+header+"` |")
	}
	for _, reason := range []string{
		string(pipeline.NotJSON), string(pipeline.NoText), string(pipeline.WrongType), string(pipeline.EmptyText),
		string(pipeline.TooLarge),
	} {
		require.Contains(t, doc, "| `"+reason+"` |")
	}
}
