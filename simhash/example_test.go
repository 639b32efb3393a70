package simhash_test

import (
	"fmt"
	"strings"

	"echosieve/simhash"
)

// fingerprint weighs every word alike; real callers weigh rare words more.
func fingerprint(text string) simhash.Fingerprint {
	var features []simhash.Feature
	for _, word := range strings.Fields(text) {
		features = append(features, simhash.Feature{Hash: simhash.Hash(word), Weight: 1})
	}
	return simhash.Sum(features)
}

func ExampleSum() {
	a := fingerprint("the river rose by two metres overnight and flooded the old town of the port city")
	b := fingerprint("overnight the river rose by two metres and flooded the old town of the port city")
	c := fingerprint("shares closed higher as investors welcomed the results of three large retail banks")
	fmt.Println("word order changed:", simhash.Distance(a, b), "bits")
	fmt.Println("another story is far:", simhash.Distance(a, c) > 15)
	// Output:
	// word order changed: 0 bits
	// another story is far: true
}

func ExampleBlocks() {
	a, b := simhash.Fingerprint(0x0123456789abcdef), simhash.Fingerprint(0x0123456789abcd00)
	// The index stores a under each of its blocks and later looks up each block of b.
	filed := map[simhash.Block]bool{}
	for _, block := range simhash.Blocks(a, simhash.DefaultMaxDistance) {
		filed[block] = true
	}
	for _, block := range simhash.Blocks(b, simhash.DefaultMaxDistance) {
		fmt.Printf("block %d, value %04x: %v\n", block.Index, block.Value, filed[block])
	}
	// Output:
	// block 0, value 0123: true
	// block 1, value 4567: true
	// block 2, value 89ab: true
	// block 3, value cd00: false
}
