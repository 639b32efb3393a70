package simhash

import (
	"encoding/binary"
	"math"
	"testing"
)

func FuzzSum(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("0123456789ab"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x80\x3f\x01\x00\x00\x00\x00\x00\x00\x80\x00\x00\x80\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// 8 bytes of hash, 4 of weight; three-digit weights keep ties of the definition ties after rounding.
		var features, doubled []Feature
		for ; len(data) >= 12; data = data[12:] {
			w := float64(binary.LittleEndian.Uint32(data[8:]) % 1000)
			h := binary.LittleEndian.Uint64(data)
			features = append(features, Feature{h, w})
			doubled = append(doubled, Feature{h, 2 * w})
		}
		got := Sum(features)
		if want := naive(features); got != want {
			t.Fatalf("Sum = %s, definition %s", got, want)
		}
		if twice := Sum(doubled); twice != got {
			t.Fatalf("doubled weights: %s, before %s", twice, got)
		}
	})
}

func FuzzBlocks(f *testing.F) {
	f.Add(uint64(0), uint64(7), 3)
	f.Add(uint64(math.MaxUint64), uint64(0), 63)
	f.Fuzz(func(t *testing.T, a, b uint64, k int) {
		k &= 63
		if Distance(Fingerprint(a), Fingerprint(b)) <= k && !shareBlock(Fingerprint(a), Fingerprint(b), k) {
			t.Fatalf("%x and %x share no block of %d", a, b, k+1)
		}
		if a == b && Blocks(Fingerprint(a), k)[k] != Blocks(Fingerprint(b), k)[k] {
			t.Fatal("equal fingerprints have different blocks")
		}
	})
}
