// Package evidence summarises an article in a signature of 88 bytes and judges two articles by their
// signatures: what they have in common (compare.go), then the first row of the rule that applies (rule.go,
// judge.go). A SimHash alone cannot decide it: reports on one template that differ only in their figures are
// as near as copies are.
//
// The index keeps a signature of every article in the window. The second check sees nothing else of an
// earlier article: everything that it needs of a text must be in these 88 bytes.
//
// Layout. The version of a flash is 14: filters of its word pairs and words are in bytes 2 to 31 and 62 to 79.
//
//	 0      version, 13
//	 1      number of word bigrams n as round(16 log2(n+1)), at most 255
//	 2..31  MinHash of the word bigrams: 120 slots of 2 bits, slot 0 in the lowest bits of byte 2
//	32..47  numbers: 16 slots with an 8-bit hash of what stands before a number, 0 = empty; the last 3 are for
//	        version numbers
//	48..55  their values: a 4-bit hash for each slot, slot 0 in the low half of byte 48
//	56..61  bitmap of number values, 48 bits, bit 0 is the lowest of byte 56; without years and telephone
//	        numbers. The last 8 bits are for version numbers
//	62..68  slots of the MinHash, 7 bits each, whose bigrams are among the first 20 of the text: up to 8, the
//	        foremost first; then the first one again
//	69..76  up to 8 main words, the weightiest first: an 8-bit hash, 0 = none
//	77..79  how often each main word occurs, 3 bits each (timesLevels)
//	80..87  from the lowest bit: hash of the publisher, 32 bits; of the address, 15; of the title, 15; each 0 = not
//	        known. The highest bit: the publisher calls the text a correction
//
// The MinHash is one permutation cut into slots (Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012), empty
// slots filled from others (Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML 2017),
// with the lowest bits kept (Li and Koenig, "b-Bit Minwise Hashing", WWW 2010). The numbers are there because of one
// observation: in the same context a copy keeps the number and another report on the template changes it.
//
// A change of any byte that Append writes needs a new version. A signature of an unknown version holds no information.
package evidence
