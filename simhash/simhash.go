// Package simhash makes 64-bit SimHash fingerprints of weighted features and cuts them into blocks for look-ups.
//
// A SimHash (Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002) adds up, for each
// of its 64 bits, the weights of the features whose hash has that bit set, less the weights of the others; the bit
// is the sign of that sum. Sets of features that weigh nearly the same differ in few bits. Layout finds such
// neighbours with exact look-ups only (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling",
// WWW 2007).
//
// The package knows nothing of text: what the features are and what they weigh is the caller's decision. It uses
// the standard library only, keeps no state, and all its functions are safe for concurrent use. The same input
// gives the same fingerprint on every platform.
package simhash

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// Fingerprint is a 64-bit SimHash.
type Fingerprint uint64

// Distance is the Hamming distance between two fingerprints, 0 to 64 bits.
func Distance(a, b Fingerprint) int { return bits.OnesCount64(uint64(a ^ b)) }

// String returns the fingerprint as 16 lower-case hexadecimal digits, the most significant first.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

// Parse reads the form that String returns.
func Parse(s string) (Fingerprint, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != 16 {
		return 0, fmt.Errorf("%q is no fingerprint: 16 hexadecimal digits are needed", s)
	}
	return Fingerprint(n), nil
}

// Bits returns the fingerprint as 64 binary digits, the most significant first.
func (f Fingerprint) Bits() string { return fmt.Sprintf("%064b", uint64(f)) }

// Feature is one property of the object that a fingerprint is made of, such as a word of a text.
type Feature struct {
	// Hash should behave like 64 random bits that are always the same for one property; see Hash.
	Hash uint64
	// Weight says how much the property tells about the object. Sum leaves out a feature whose weight is not
	// positive or not finite.
	Weight float64
}

// Hash returns a hash of a word in which each bit is as good as random: FNV-1a with 64 bits (Fowler, Noll, Vo;
// RFC 9923), followed by the finaliser of MurmurHash3 (fmix64, Appleby). FNV alone leaves the high bits of short
// words nearly constant, and a SimHash needs all of them.
func Hash(word string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 0x100000001b3
	}
	return Mix(h)
}

// Mix makes each bit of a hash depend on all of its bits: the finaliser of MurmurHash3 (fmix64, Appleby). Different
// hashes stay different.
func Mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Sum returns the SimHash of a set of features: bit i is set if the features whose hash has bit i set weigh
// more than those whose hash has not. At equal weight the bit is 0, and so is the SimHash of no features.
//
// The order of the features does not matter, and multiplying all weights by a power of two does not either.
// A hash that occurs twice counts with the sum of its weights. Weights are rounded to about 1/2^31 of the
// heaviest one times the number of features. Sum allocates nothing.
func Sum(features []Feature) Fingerprint {
	var sums Sums
	return SumWeights(features, &sums)
}

// Sums holds, for each bit of a SimHash, the weight of the features that have the bit set less the weight of the
// others. Its unit differs from text to text; only the sizes within one Sums mean something: the nearer to zero, the
// smaller the change of the text that flips the bit.
type Sums [64]float64

// SumWeights is Sum, and also stores the sums behind the bits. Without usable features all of them are 0.
func SumWeights(features []Feature, differences *Sums) Fingerprint {
	*differences = Sums{}
	heaviest, n := 0.0, 0
	for _, f := range features {
		if usable(f.Weight) {
			heaviest = max(heaviest, f.Weight)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	// Weights become integers, so that sums are exact in any order. The greatest sum is near 2^31. The power
	// of two is multiplied in two parts, because the whole of it can be too large for a number.
	_, exponent := math.Frexp(heaviest)
	_, magnitude := math.Frexp(float64(n))
	shift := 31 - magnitude - exponent
	scale, rest := math.Ldexp(1, shift/2), math.Ldexp(1, shift-shift/2)

	// Four bits of the hash are added at a time: nibbles[i][v] is the weight of the features whose bits 4i to
	// 4i+3 have the value v.
	var nibbles [16][16]uint64
	for _, f := range features {
		if !usable(f.Weight) {
			continue
		}
		w, h := uint64(f.Weight*scale*rest+0.5), f.Hash
		for i := range nibbles {
			nibbles[i][h&15] += w
			h >>= 4
		}
	}
	var fp Fingerprint
	for i := range nibbles {
		n := &nibbles[i]
		for bit := 3; bit >= 0; bit-- { // each bit halves the values that are left to tell apart
			half, difference := 1<<bit, int64(0)
			for value := range half {
				difference += int64(n[half+value] - n[value])
				n[value] += n[half+value]
			}
			differences[4*i+bit] = float64(difference)
			if difference > 0 {
				fp |= 1 << (4*i + bit)
			}
		}
	}
	return fp
}

func usable(weight float64) bool { return weight > 0 && weight <= math.MaxFloat64 }
