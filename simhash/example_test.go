package simhash_test

import (
	"fmt"

	"echosieve/simhash"
)

// The fingerprints of two texts that differ in one of six words, and the block lists under which a third with at most
// three other bits is found.
func Example() {
	fingerprint := func(words ...string) simhash.Fingerprint {
		var features []simhash.Feature
		for _, word := range words {
			features = append(features, simhash.Feature{Hash: simhash.Mix(simhash.Hash(word)), Weight: 1})
		}
		return simhash.Sum(features)
	}
	a := fingerprint("council", "budget", "next", "year", "town", "monday")
	b := fingerprint("council", "budget", "next", "year", "town", "tuesday")
	fmt.Println(a, b, "distance", simhash.Distance(a, b), "blocks", len(simhash.Layout{Count: 4}.AppendBlocks(nil, a)))
	// Output:
	// d029138ef4cc10c2 70201287f4c410c2 distance 8 blocks 4
}
