// Package simhash makes 64-bit SimHash fingerprints of weighted features and cuts them into blocks for look-ups.
//
// A SimHash (Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002) adds up, for each
// of its 64 bits, the weights of the features whose hash has that bit set, less the weights of the others; the bit
// is the sign of that sum. Sets of features that weigh nearly the same differ in few bits. Blocks finds such
// neighbours with exact look-ups only (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling",
// WWW 2007).
//
// The package knows nothing of text: what the features are and what they weigh is the caller's decision. It uses
// the standard library only, keeps no state, and all its functions are safe for concurrent use. The same input
// gives the same fingerprint on every platform.
package simhash

import (
	"fmt"
	"math/bits"
	"strconv"
)

// Fingerprint is a 64-bit SimHash.
type Fingerprint uint64

// Distance is the Hamming distance between two fingerprints, 0 to 64 bits.
func Distance(a, b Fingerprint) int { return bits.OnesCount64(uint64(a ^ b)) }

// String returns the fingerprint as 16 lower-case hexadecimal digits, the most significant first.
func (f Fingerprint) String() string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[f>>(60-4*i)&15]
	}
	return string(b[:])
}

// Parse reads the form that String returns.
func Parse(s string) (Fingerprint, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != 16 {
		return 0, fmt.Errorf("%q is no fingerprint: 16 hexadecimal digits are needed", s)
	}
	return Fingerprint(n), nil
}

// Bits returns the fingerprint as 64 binary digits, the most significant first.
func (f Fingerprint) Bits() string {
	var b [64]byte
	for i := range b {
		b[i] = '0' + byte(f>>(63-i)&1)
	}
	return string(b[:])
}
