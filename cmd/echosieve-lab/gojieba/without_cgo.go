//go:build !cgo

package gojieba

import "echosieve/pipeline/segment"

// Cutter is never made in this build.
type Cutter struct{}

// New returns ErrMissing.
func New([]segment.Word) (*Cutter, error) { return nil, ErrMissing }

// Cut does nothing, as there is no Cutter in this build.
func (*Cutter) Cut(dst []string, _ string) []string { return dst }
