package classic

import (
	"crypto/md5"
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/bits"
)

// md5Low is the hash of the Python package: the low 64 bits of the MD5 digest, read as a big-endian number.
func md5Low(word string) uint64 {
	digest := md5.Sum([]byte(word))
	return binary.BigEndian.Uint64(digest[8:])
}

// fnv1a is FNV-1a with 64 bits and no finalising mix.
func fnv1a(word string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, word) // never fails
	return h.Sum64()
}

// jenkins is the hash of yanyiwu/simhash: Bob Jenkins's lookup3 (hashlittle2) with both seeds 0, its first result in
// the upper half.
func jenkins(word string) uint64 {
	key := []byte(word)
	a := 0xdeadbeef + uint32(len(key))
	b, c := a, a
	if len(key) == 0 {
		return uint64(c)<<32 | uint64(b)
	}
	for ; len(key) > 12; key = key[12:] {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a, b, c = jenkinsMix(a, b, c)
	}
	var last [12]byte
	copy(last[:], key)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	b, c = jenkinsFinal(a, b, c)
	return uint64(c)<<32 | uint64(b)
}

// jenkinsMix stirs three words so that no bit of an earlier block is lost.
func jenkinsMix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, r := range [2][3]int{{4, 6, 8}, {16, 19, 4}} {
		a = (a - c) ^ bits.RotateLeft32(c, r[0])
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, r[1])
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, r[2])
		b += a
	}
	return a, b, c
}

// jenkinsFinal stirs the last block; b and c are the hash.
func jenkinsFinal(a, b, c uint32) (uint32, uint32) {
	for _, r := range [2][3]int{{14, 11, 25}, {16, 4, 14}} {
		c = (c ^ b) - bits.RotateLeft32(b, r[0])
		a = (a ^ c) - bits.RotateLeft32(c, r[1])
		b = (b ^ a) - bits.RotateLeft32(a, r[2])
	}
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	return b, c
}
