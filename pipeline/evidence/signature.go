package evidence

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// Version is the version of the layout that Append writes, its first byte.
const Version = 13

// Size is the length of a signature in bytes.
const Size = 88

// Where the fields begin, and how many slots they have.
const (
	countAt     = 1
	minAt       = 2
	contextAt   = 32
	valueAt     = 48
	bitmapAt    = 56
	leadAt      = 62
	mainAt      = 69
	timesAt     = 77
	originAt    = 80
	minSlots    = 120
	numberSlots = 16
	bodySlots   = 13 // of the numberSlots; the others are for version numbers
	bitmapBits  = 48
	bodyBits    = 40 // of the bitmap; the others are for version numbers
	leadSlots   = 8  // numbers of slots at leadAt, 7 bits each
	leadMask    = 1<<7 - 1
	// Of the 64 bits at originAt, the publisher has the lowest, then the address, then the title.
	publisherBits, nameBits = 32, 15
	// correctionBit is set if the publisher calls the text a correction.
	correctionBit = 1 << 63
)

// timesLevels are the numbers of occurrences that a signature tells apart: at least so many.
var timesLevels = [8]int32{0, 2, 3, 4, 5, 7, 10, 15}

// maxNumbers is how many numbers of a text count, from its beginning. It bounds the memory that a table of
// figures takes.
const maxNumbers = 4096

// Signature is a decoded signature. The zero value holds no information.
type Signature struct{ raw [Size]byte }

// Decode decodes a signature that Append or AppendFlash wrote. For all other data, such as a signature of
// another version, it returns the zero Signature and false.
func Decode(data []byte) (s Signature, ok bool) {
	if len(data) != Size || data[0] != Version && data[0] != flashVersion {
		return Signature{}, false
	}
	return Signature{[Size]byte(data)}, true
}

// Known tells whether the signature holds information.
func (s *Signature) Known() bool { return s.raw[0] != 0 }

func (s *Signature) origin() uint64 { return binary.LittleEndian.Uint64(s.raw[originAt:]) }

func (s *Signature) flash() bool { return s.raw[0] == flashVersion }

// bigrams is the number of word bigrams, to about 2 %.
func (s *Signature) bigrams() float64 { return math.Exp2(float64(s.raw[countAt])/16) - 1 }

func logCount(n int) byte { return byte(min(255, math.Round(16*math.Log2(float64(n+1))))) }

// Builder makes signatures and anchors. Its zero value is ready. It keeps its buffers and allocates nothing
// after the first texts. It is not safe for concurrent use.
type Builder struct {
	figures
	words     int                      // number of words added so far
	last      uint64                   // the word added last
	mins      [minSlots]uint64         // least hash of each slot's bigrams plus 1; 0 = no bigram
	before    [2]uint64                // hashes of the last bigrams, the latest second
	anchors   leastHashes              // of the runs of four words
	beginning uint64                   // least hash of those within the first words
	lead      [limits.LeadPairs]uint64 // the first bigrams
	main      mainWords
	origin    uint64 // hashes of publisher, address and title, see SetOrigin
}

// figures are the numbers of an article.
type figures struct {
	facts, heads []uint64    // of the numbers and of the version numbers, see newFact
	bitmap       uint64      // of the values of all numbers but years and telephone numbers
	values       leastHashes // of the numbers with two significant digits or more
}

// write writes the numbers of the article.
func (f *figures) write(raw *[Size]byte) {
	sketch(raw, f.facts, 0, bodySlots)
	sketch(raw, f.heads, bodySlots, numberSlots-bodySlots)
	copy(raw[bitmapAt:leadAt], binary.LittleEndian.AppendUint64(make([]byte, 0, 8), f.bitmap))
}

// mainWords are hashes of the main words, and how often each of them occurs.
type mainWords struct {
	hashes [limits.MainWords]byte
	times  uint32 // levels
	n      int
}

// Reset forgets the article.
func (b *Builder) Reset() {
	*b = Builder{figures: figures{facts: b.facts[:0], heads: b.heads[:0]}}
}

// Add adds the next words of an article, as many at a time as the caller likes. words are the hashes, in
// order, of the words that hold a letter or digit.
func (b *Builder) Add(words []uint64) {
	if len(words) == 0 {
		return
	}
	bigrams, last := words, b.last
	if b.words == 0 {
		bigrams, last = words[1:], words[0]
	}
	before, n := b.before, b.words+len(words)-len(bigrams)
	for _, w := range bigrams {
		h := bigram(last, w)
		if n >= 3 {
			run := simhash.Mix(h ^ bits.RotateLeft64(before[0], 32))
			b.anchors.add(run)
			if n == 3 || n < beginningWords && run < b.beginning {
				b.beginning = run
			}
		}
		before[0], before[1] = before[1], h
		n++
		if n <= limits.LeadPairs+1 { // the first bigram makes n 2
			b.lead[n-2] = h
		}
		if slot, rest := slotOf(h); b.mins[slot] == 0 || rest < b.mins[slot] {
			b.mins[slot] = rest
		}
		last = w
	}
	b.words, b.last, b.before = b.words+len(words), last, before
}

// slotOf returns the slot of the MinHash that a bigram belongs to, and its hash within the slot, which is not 0.
func slotOf(bigram uint64) (slot, rest uint64) {
	slot, rest = bits.Mul64(bigram, minSlots)
	return slot, rest>>1 + 1
}

// bigram is the hash of two words in a row.
func bigram(first, second uint64) uint64 { return simhash.Mix(second ^ simhash.Mix(first)) }

// Short tells whether the words added so far are those of a short text.
func (b *Builder) Short() bool { return b.words <= limits.ShortPairs }

// Append appends to dst the signature of the article, Size bytes, and returns the extended slice. The builder is then
// ready for the next article.
func (b *Builder) Append(dst []byte) []byte {
	var raw [Size]byte
	raw[0] = Version
	n := max(0, b.words-1)
	raw[countAt] = logCount(n)
	if n > 0 {
		b.minHash(&raw)
		b.sampleLead(&raw, n)
	}
	b.write(&raw)
	copy(raw[mainAt:], b.main.hashes[:])
	raw[timesAt], raw[timesAt+1], raw[timesAt+2] = byte(b.main.times), byte(b.main.times>>8), byte(b.main.times>>16)
	binary.LittleEndian.PutUint64(raw[originAt:], b.origin)
	b.Reset()
	return append(dst, raw[:]...)
}

// AddMainWord adds one of the weightiest words of the article, the weightiest first, and how often it occurs.
// The first eight calls count.
func (b *Builder) AddMainWord(word uint64, times int32) {
	m := &b.main
	if m.n == limits.MainWords {
		return
	}
	m.hashes[m.n] = byte(1 + simhash.Mix(word)%255)
	level := uint32(0)
	for level+1 < uint32(len(timesLevels)) && times >= timesLevels[level+1] {
		level++
	}
	m.times |= level << (3 * m.n)
	m.n++
}

func (b *Builder) minHash(raw *[Size]byte) {
	for i := range uint64(minSlots) {
		from := i
		for try := uint64(1); b.mins[from] == 0; try++ {
			from, _ = slotOf(simhash.Mix(i<<32 | try))
		}
		raw[minAt+i/4] |= byte(simhash.Mix(b.mins[from])&3) << (i % 4 * 2)
	}
}

// sampleLead writes the slots of the foremost bigrams that are a sample of the MinHash. Each slot stands
// once; the rest repeats the first.
func (b *Builder) sampleLead(raw *[Size]byte, bigrams int) {
	var slots [leadSlots]uint64
	n := 0
	for _, h := range b.lead[:min(limits.LeadPairs, bigrams)] {
		slot, rest := slotOf(h)
		if n < leadSlots && b.mins[slot] == rest && !slices.Contains(slots[:n], slot) {
			slots[n] = slot
			n++
		}
	}
	lead := uint64(0)
	for i, slot := range slots {
		if i >= n {
			slot = slots[0]
		}
		lead |= slot << (7 * i)
	}
	copy(raw[leadAt:mainAt], binary.LittleEndian.AppendUint64(make([]byte, 0, 8), lead))
}

// MaxAnchors is the number of anchors that a Builder keeps.
const MaxAnchors = 8

// leastHashes keeps the MaxAnchors least hashes that were added, each once, in ascending order.
type leastHashes struct {
	list [MaxAnchors]uint64
	n    int
}

func (l *leastHashes) add(hash uint64) {
	if l.n < MaxAnchors || hash < l.list[MaxAnchors-1] {
		l.insert(hash)
	}
}

func (l *leastHashes) insert(hash uint64) {
	at, known := slices.BinarySearch(l.list[:l.n], hash)
	if known {
		return
	}
	l.n = min(l.n+1, MaxAnchors)
	copy(l.list[at+1:l.n], l.list[at:])
	l.list[at] = hash
}

// anchorNumbers is how many numbers make an anchor. The numbers of an article that an editor has reworded
// stay, but few runs of four words do. By three equal numbers as many other articles are found as by an equal
// run of words, by two numbers two to five times as many.
const anchorNumbers = 3

// beginningWords is the number of words from which the anchor of the beginning is taken.
const beginningWords = 80

// AppendAnchors appends at most n anchors of the article, the foremost first, and returns the extended slice. Call it
// before Append.
//
// Anchors (Manber, "Finding Similar Files in a Large File System", 1994) are a sample of the article's runs
// of four words: the runs with the least hashes, as in Broder's MinHash ("On the Resemblance and Containment
// of Documents", 1997). Two texts that share 80 % of their runs have the same foremost anchor with a
// probability of about 80 %. A text that contains another one has the other's foremost anchor among its own
// first ones. An article of less than four words has no anchors.
//
// Two anchors are special. The second one is the foremost run of the beginning: page 1 of an article, and an
// article that was cut off, have the beginning of the whole. The third one is made of three numbers, those
// with the least hashes, if the article has three numbers with two significant digits or more. Where one of
// them is missing or the same as an anchor before it, the others move up.
//
// The values are uniform over all 64 bits. Four look-ups of anchors find what takes 30 look-ups of probes,
// whatever the width of the index's blocks. A phrase that many articles use, however, makes a long list in
// the index, so the index bounds its lists.
func (b *Builder) AppendAnchors(dst []uint64, n int) []uint64 {
	if b.anchors.n == 0 {
		return dst
	}
	at := len(dst)
	add := func(hash uint64) {
		if len(dst) < at+n && !slices.Contains(dst[at:], hash) {
			dst = append(dst, hash)
		}
	}
	add(simhash.Mix(b.anchors.list[0]))
	add(simhash.Mix(b.beginning))
	if b.values.n >= anchorNumbers {
		hash := uint64(0)
		for _, value := range b.values.list[:anchorNumbers] {
			hash = simhash.Mix(hash ^ value)
		}
		add(hash)
	}
	for _, run := range b.anchors.list[1:b.anchors.n] {
		add(simhash.Mix(run))
	}
	return dst
}

// flashVersion is the first byte of the signature of a flash. Instead of samples, this signature has two filters,
// one of all word pairs and one of all words. A flash has so few of them that the filters tell whether one article
// contains the other, and hence whether a single name was replaced. The estimates of longer articles cannot
// tell that.
const flashVersion = 14

// The filters take the place of the MinHash, of the beginning and of the main words, with the bits in this order.
const (
	pairBits = 288
	wordBits = 96
	// flashBits is the largest number of bits, of 384, with which the words of a flash are compared: as many as a
	// MinHash has samples. With a third of them set, one replaced word in ten goes unseen.
	flashBits = minSlots
)

// filterByte returns the byte of a signature that holds a bit of the filters.
func filterByte(bit uint64) uint64 {
	at := minAt + bit/8
	if at >= contextAt {
		at += leadAt - contextAt
	}
	return at
}

// AppendFlash is Append for a flash. words are all hashes that were given to Add.
func (b *Builder) AppendFlash(dst []byte, words []uint64) []byte {
	s := Signature{[Size]byte{flashVersion, logCount(max(0, len(words)-1))}}
	set := func(bit uint64) { s.raw[filterByte(bit)] |= 1 << (bit % 8) }
	for i, w := range words {
		set(pairBits + simhash.Mix(w)>>32*wordBits>>32)
		if i > 0 {
			set(bigram(words[i-1], w) >> 32 * pairBits >> 32)
		}
	}
	b.write(&s.raw)
	binary.LittleEndian.PutUint64(s.raw[originAt:], b.origin)
	b.Reset()
	return append(dst, s.raw[:]...)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
