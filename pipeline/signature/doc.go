// Package signature summarises an article in 80 bytes and compares two such signatures, to decide whether articles whose fingerprints are
// near are copies of each other. A SimHash alone cannot decide it: reports on one template that differ only in their figures are as near
// as copies are.
//
// The index keeps a signature of every article in the window. The second check sees nothing else of an earlier article: everything that it
// needs of a text must be in these 80 bytes.
//
// Layout of version 5. A flash has version 4 (flash.go), with a filter of its words in bytes 2 to 33 and nothing behind byte 63:
//
//	 0      version, 5
//	 1      number of word bigrams n as round(16 log2(n+1)), at most 255
//	 2..33  MinHash of the word bigrams: 128 slots of 2 bits, slot 0 in the lowest bits of byte 2
//	34..49  numbers: 16 slots with an 8-bit hash of what stands before a number, 0 = empty
//	50..57  their values: a 4-bit hash for each slot, slot 0 in the low half of byte 50
//	58..63  bitmap of number values, 48 bits, bit 0 is the lowest of byte 58; without years and telephone numbers
//	64..70  slots of the MinHash, 7 bits each, whose bigrams are among the first 20 of the text: up to 8, the foremost first; then the
//	        first one again
//	71..78  up to 8 main words, the weightiest first: an 8-bit hash, 0 = none
//	79      bit 0: a word says that something rises, bit 1: that something falls; bits 2 and 3: the article is about the first, the
//	        second main word
//
// The MinHash is one permutation cut into slots (Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012), empty
// slots filled from others (Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML 2017),
// with the lowest bits kept (Li and Koenig, "b-Bit Minwise Hashing", WWW 2010). The numbers are there because of one
// observation: in the same context a copy keeps the number and another report on the template changes it.
//
// A change of any byte that Append writes needs a new version. A signature of an unknown version holds no information.
package signature
