//go:build !cgo

package cppjieba

import (
	"echosieve/pipeline/segment"
)

// Segmenter is never made in this build.
type Segmenter struct{}

// New returns ErrMissing.
func New([]segment.Word) (*Segmenter, error) { return nil, ErrMissing }

// Cut does nothing, as there is no Segmenter in this build.
func (*Segmenter) Cut(dst []string, _ string) []string { return dst }
