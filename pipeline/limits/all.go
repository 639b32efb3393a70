package limits

// All returns all numbers, in the order of limits.go. They are part of a recipe's id: articles that were
// judged by other numbers are in another index.
func All() []float64 {
	return []float64{
		Near, Possible, ShortNear, Values,
		WholeDistance, ShortPairs, Contained, Longer, OtherWords, Growth, Numbers,
		Contradictions, Corrected, Beginning, Day,
		LeadPairs, MainWords, ForemostWords, SubjectWords, HeadBytes, PhoneDigits, FirstYear, LastYear,
		MaxDistance, LoneDistance, MinFeatures, FlashFeatures,
		WeakIDF, RareIDF, LetterIDF, SeldomFunction, OftenFunction,
		FurnitureLines, LongLine, ShortLine, BodyColumns, MostLines, FullLine, MainShare, Outdoes,
	}
}
