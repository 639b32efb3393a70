//go:build cgo

// Package libm gives tests the logarithm that cppjieba uses. Test files cannot use cgo themselves.
package libm

// #cgo LDFLAGS: -lm
// #include <math.h>
import (
	"C"
)

// Log returns the natural logarithm of the C library.
func Log(x float64) float64 { return float64(C.log(C.double(x))) }
