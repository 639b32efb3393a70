// Package gojieba cuts texts with gojieba, that is with the C++ library cppjieba: tests compare package segment with
// it, and bench measures it.
package gojieba

import "errors"

// ErrMissing is returned by New in a program without cgo.
var ErrMissing = errors.New(
	"gojieba is C++ and this program was built without it: build with CGO_ENABLED=1 and a C++ compiler")
