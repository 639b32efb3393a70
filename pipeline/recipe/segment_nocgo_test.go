//go:build !cgo

package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/segment"
	"echosieve/pipeline/text"
)

func TestGojiebaIsMissingWithoutCgo(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Segmenter = text.SegmenterGojieba
	_, err := Load(cfg)
	require.ErrorIs(t, err, segment.ErrNoGojieba)
	require.ErrorContains(t, err, "CGO_ENABLED=1")
}
