package recipe

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/simhash"
)

type word struct {
	text  string
	hash  uint64
	count int32
	idf   float32
	alien bool // in neither Chinese nor ASCII: no table knows it
}

// weight is TF-IDF, the count not damped: that finds more copies, and what one frequent word brings near without
// reason is for the second check to tell.
func (w *word) weight() float64 {
	if w.alien {
		return damped(w.count, w.idf)
	}
	return float64(w.count) * float64(w.idf)
}

// numberIDF bounds the IDF of words that begin with a digit. Nearly all are missing from the tables, but they say little
// about what a text is about: a line of telephone numbers would outweigh a page. What numbers a text has, its signature
// tells.
const numberIDF = 4

// latinIDF bounds the IDF of words that begin with an ASCII letter. The English table has few articles of one field behind it,
// and jieba's those of Chinese news with an English word: both value a name or a slip of the pen more than the words that a
// text is about, and a copy with a few lines added moved away.
const latinIDF = 8.5

// slotSeed differs from process to process, so that nobody can choose words that all want one slot.
var slotSeed = rand.Uint64() | 1

// tally counts more words of the text: words gets the different terms among them, in the order of their first occurrence.
// It returns cut, emptied.
func (s *scratch) tally(cut []string) []string {
	s.sequence = s.sequence[:0]
	previous := uint64(0)
	for _, text := range cut {
		text = strings.TrimRight(text, ".") // jieba leaves the full stop with a number
		if !isWord(text) {
			continue
		}
		hash := simhash.Hash(text)
		s.sequence = append(s.sequence, inSequence(text, hash, previous))
		previous = hash
		if isSingle(text) {
			continue
		}
		slot := s.slot(hash)
		if *slot != 0 {
			s.words[*slot-1].count++
			continue
		}
		s.words = append(s.words, word{text: text, hash: hash, count: 1})
		*slot = int32(len(s.words))
		if 2*len(s.words) > len(s.slots) {
			s.slots = make([]int32, 2*len(s.slots))
			for i := range s.words {
				*s.slot(s.words[i].hash) = int32(i + 1)
			}
		}
	}
	s.signature.Add(s.sequence)
	clear(cut) // they hold on to the text
	return cut[:0]
}

// slot returns the slot of the word with this hash, or the free one where it belongs.
func (s *scratch) slot(hash uint64) *int32 {
	mask := uint64(len(s.slots) - 1)
	at := hash * slotSeed >> bits.LeadingZeros64(mask)
	for s.slots[at] != 0 && s.words[s.slots[at]-1].hash != hash {
		at = (at + 1) & mask
	}
	return &s.slots[at]
}

// weigh looks up what the words are worth, in a loop of their own so that the cache misses overlap, and drops stop words.
func (s *scratch) weigh(terms *terms) {
	for i := range s.words {
		idf := terms.of(s.words[i].hash)
		if hash := s.words[i].hash; directionBits[hash%(1<<12)] {
			if up, known := directions[hash]; known {
				s.signature.AddDirection(up, int(s.words[i].count))
			}
		}
		switch first := s.words[i].text[0]; {
		case first >= '0' && first <= '9':
			idf = min(idf, numberIDF)
		case first < utf8.RuneSelf:
			idf = min(idf, latinIDF)
		case first < 0xe4 || first > 0xe9: // no Han character of the basic plane
			if kind, _ := scriptOf(s.words[i].text); kind != cutByJieba && idf != 0 {
				s.words[i].alien, idf = true, unlisted(s.words[i].text)
			}
		}
		s.words[i].idf = idf
	}
	s.words = slices.DeleteFunc(s.words, func(w word) bool { return w.idf == 0 })
}

// What words weigh that no table knows and that are not Chinese: the more the longer they are, as frequent words are short. A pair of
// characters weighs little.
const (
	maxUnlisted  = 9
	perLetter    = 1.5
	pairWeight   = 4
	hiraganaPair = 2
)

// unlisted is what a word weighs that is in no table and begins with neither Han nor ASCII.
func unlisted(word string) float32 {
	r, _ := utf8.DecodeRuneInString(word)
	kind, _ := scriptOf(word)
	letters := utf8.RuneCountInString(word)
	switch {
	case kind == cutInPairs && r >= 0x3041 && r <= 0x309f:
		return hiraganaPair
	case kind == cutInPairs:
		return pairWeight
	case unicode.Is(unicode.Hangul, r):
		letters *= 2
	}
	return min(maxUnlisted, perLetter*float32(letters)-1)
}

// damped is the weight of a word that occurs count times and is in no table: the frequent ones of a language are not known, so that
// frequency says less.
func damped(count int32, idf float32) float64 { return math.Sqrt(float64(count)) * float64(idf) }

// directions are words, by their hash, that say that something rises (true) or falls. Reports of the same form that differ in nothing
// but such a word tell opposite news. Nouns and verbs of other meanings are left out, as far as they are frequent.
var directions = func() map[uint64]bool {
	table := map[uint64]bool{}
	for up, list := range map[bool]string{
		true: "raise raises raised raising rise rises rose risen rising increase increases increased gain gains gained higher climb climbs climbed " +
			"jump jumps jumped surge surges surged grew hike hikes hiked upgrade upgrades upgraded " +
			"上涨 上调 上升 上扬 增长 增加 提高 攀升 走高 收涨 大涨 上行 加息 涨停 调升 回升 反弹 扩大",
		false: "cut cuts lower lowers lowered lowering fall falls fell fallen falling decrease decreases decreased decline declines declined drop drops " +
			"dropped plunge plunges plunged slump slumps slumped slip slips slipped shrank reduce reduces reduced downgrade downgrades downgraded " +
			"下跌 下调 下降 下挫 减少 降低 下滑 走低 收跌 大跌 下行 降息 跌停 调降 回落 萎缩 缩小",
	} {
		for word := range strings.FieldsSeq(list) {
			table[simhash.Hash(word)] = up
		}
	}
	return table
}()

// directionBits tells of the lowest bits of a hash whether a word with them may be in directions, which saves most look-ups.
var directionBits = func() (table [1 << 12]bool) {
	for hash := range directions {
		table[hash%(1<<12)] = true
	}
	return table
}()
