// Package cppjieba cuts text with gojieba, that is with the C++ library cppjieba, and the embedded
// dictionaries. It is the reference of package segment in tests, and cuts the words with detection.segmenter:
// gojieba. It needs cgo: in a program that was built without it, New returns ErrMissing.
package cppjieba

import (
	"errors"
)

// ErrMissing is returned by New in a program without cgo.
var ErrMissing = errors.New(
	"gojieba is C++ and this program was built without it: build with CGO_ENABLED=1 and a C++ compiler, " +
		"or use the native segmenter, which yields the same words")
