// Package limits holds all numbers that decide a verdict, each with its unit, what it separates and what
// chose it. A change of one changes verdicts and, through All, the id of the recipe. TestNumbersStandHere
// finds such numbers elsewhere.
//
// Chosen on "labelled pairs": of the labelled Chinese and English pairs, the value after which false joins
// rise. On "languages": pairs made by known edits of articles in 21 languages, half of the families.
// "Reason": it follows from the reason given; no value was searched.
package limits

// The defaults of the settings. Similarity is the share of word pairs in common, 0 to 1.
const (
	// Near is the similarity of a copy. Chosen on labelled pairs.
	Near = 0.44
	// Possible is the similarity of a possible copy, and of a copy for which something else speaks: a part, or the
	// same numbers. With the most evidence, half of it is enough. Chosen on labelled pairs.
	Possible = 0.3
	// ShortNear is the similarity of a copy whose evidence is weak: a short text, or other main words. Chosen
	// on languages.
	ShortNear = 0.64
	// Values is the share of numbers that copies have in common. Chosen on labelled pairs.
	Values = 0.7
)

// The rule (package evidence).
const (
	// WholeDistance is the largest distance, in bits, between two copies of which neither is a part of the
	// other. Chosen on labelled pairs.
	WholeDistance = 16
	// ShortPairs is the number of word pairs below which a text is short. Reason: with fewer samples, an
	// overlap proves less.
	ShortPairs = 80
	// Contained is the share of its word pairs that a part has in the whole, and that each of two equal texts has in
	// the other. Chosen on languages: joins read by eye. It is below 1 because shares are estimates.
	Contained = 0.9
	// Longer is how many times as many word pairs a whole has as its part. Chosen on labelled pairs.
	Longer = 1.25
	// OtherWords is the largest number of eight main words that a copy lacks. A whole lacks fewer of its part, or tells of
	// them more often. Chosen on labelled pairs.
	OtherWords = 3
	// Growth tells a longer version from a round-up. For each length of the part that a whole is longer, it has
	// the main words of the part at least this much more often. Example: a whole three times as long as its part
	// has them 1 + 2 x 0.3 = 1.6 times as often. Chosen on languages.
	Growth = 0.3
	// Numbers is how many different numbers, the same in both, vouch for a reworded copy. Chosen on labelled pairs.
	Numbers = 4
	// Contradictions is the share of other numbers in the same places that rules out a copy. Chosen on labelled pairs.
	Contradictions = 0.14
	// Corrected is the similarity of texts in which one number that differs or is missing counts as corrected, and
	// version numbers may differ. Chosen on labelled pairs.
	Corrected = 0.7
	// Beginning is the share of its word pairs that a beginning or a flash has in the whole. Chosen on labelled pairs. It
	// is below Contained because the beginning was compared by itself, too.
	Beginning = 0.75
	// Added is the share of an article's word pairs that are new where its publisher sends a report again. Chosen on
	// labelled pairs: of one publisher. A fifth of it is news with a new number, beginning or subject, or later than Day.
	Added = 0.17
	// Day is the time, in hours, within which a publisher sends a report again, with changes. Chosen on labelled pairs: of
	// one publisher. It is above 24 because a morning paper repeats the evening before.
	Day = 36
)

// What a signature holds (package evidence).
const (
	// LeadPairs is the number of word pairs that are the beginning of a text. Reason: about a sentence.
	LeadPairs = 20
	// MainWords is how many main words a text has, ForemostWords how many of them are its foremost ones,
	// SubjectWords how many it can be about. Chosen on labelled pairs.
	MainWords     = 8
	ForemostWords = 5
	SubjectWords  = 2
	// HeadBytes is the length of the beginning whose numbers are version numbers, in bytes: five English
	// words, ten Chinese characters. Chosen on languages: 24 to 40 do the same, 96 joins daily reports.
	HeadBytes = 32
	// PhoneDigits is how many digits a telephone number has, or one more. FirstYear and LastYear bound what
	// is taken for a year. Reason: all reports on one form have its years and telephone numbers in common.
	PhoneDigits = 10
	FirstYear   = 1901
	LastYear    = 2099
)

// What counts as an article (package recipe).
const (
	// MaxDistance is the largest distance, in bits, between a text and its part. Chosen on labelled pairs. A setting.
	MaxDistance = 21
	// LoneDistance is the largest distance, in bits, of an earlier article that one of the lists looked up
	// holds, and not one of an anchor; above it, OtherWords counts. Chosen on labelled pairs: beyond it, nearly all
	// copies are in two lists, and chance candidates in one.
	LoneDistance = 12
	// MinFeatures is the number of different words from which a fingerprint means something. Chosen on labelled
	// pairs. Classic recipes need one word.
	MinFeatures = 4
	// FlashFeatures is the number of different words below which an article is a flash. Chosen on labelled
	// pairs: one article in a hundred is one, and those on one template come close.
	FlashFeatures = 16
)

// What a word weighs (package text). IDF is the natural logarithm of all articles by those with the word.
const (
	// WeakIDF is the largest IDF of a number, and the IDF of a run of characters in a script without spaces.
	// Reason: tables have hardly any numbers, and the signature compares them; a run belongs to many words.
	WeakIDF = 4
	// RareIDF is the largest IDF of a word in letters. Chosen on labelled pairs: above it, a name outweighs
	// what the article is about.
	RareIDF = 8.5
	// LetterIDF is what each letter of a word is worth in a script without a table. Chosen on languages.
	LetterIDF = 1.5
	// SeldomFunction is the share of function words of a language in a text below which the text is not in
	// that language, OftenFunction the share from which it is. Chosen on languages: English names reach 0.06,
	// articles have 0.2 to 0.6.
	SeldomFunction = 0.06
	OftenFunction  = 0.18
)

// What is left out of a page (package page). Widths are in columns: a Chinese character takes two.
const (
	// FurnitureLines is the least number of lines in a row that are left out, and the largest number of lines
	// above an article whose numbers are version numbers. Reason: headline, byline and place are three.
	FurnitureLines = 4
	// LongLine is the width from which a line is part of the article whatever it ends with, and below which
	// lines together are no article. Chosen on labelled pairs.
	LongLine = 120
	// BodyColumns is the width of an article of one line from which more can be left out than it has itself;
	// half of it with four lines or more. Chosen on labelled pairs: an introduction or a disclaimer has less.
	BodyColumns = 600
	// MostLines is the share of lines with a digit from which lines in a row are a table, and of wide lines
	// that are full in a text that is wrapped at a width. Chosen on labelled pairs.
	MostLines = 0.6
	// FullLine is the share of the width at which a text is wrapped that a full line has, and the share of
	// lines that are not wider than it. Chosen on labelled pairs.
	FullLine = 0.85
	// MainShare is the share of a document's text below which an article found in it is a caption or a
	// notice. Chosen on labelled pairs.
	MainShare = 0.05
	// Outdoes is how many times the prose of the article that was found another part of a document has, or
	// how many times shorter it is, to be the article instead. Chosen on labelled pairs.
	Outdoes = 3
)

// All returns all numbers, in the order of this file. They are part of a recipe's id: articles that were
// judged by other numbers are in another index.
func All() []float64 {
	return []float64{
		Near, Possible, ShortNear, Values,
		WholeDistance, ShortPairs, Contained, Longer, OtherWords, Growth, Numbers,
		Contradictions, Corrected, Beginning, Added, Day,
		LeadPairs, MainWords, ForemostWords, SubjectWords, HeadBytes, PhoneDigits, FirstYear, LastYear,
		MaxDistance, LoneDistance, MinFeatures, FlashFeatures,
		WeakIDF, RareIDF, LetterIDF, SeldomFunction, OftenFunction,
		FurnitureLines, LongLine, BodyColumns, MostLines, FullLine, MainShare, Outdoes,
	}
}
