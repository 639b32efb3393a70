package signature

// Limits that are not settings, for tools that show them.
const (
	ContainedShare = contained  // of the shorter text's word pairs: from here on, the longer text contains it
	ShortPairs     = shortPairs // word pairs below which a text is short
	FlashNear      = flashNear  // of words and word pairs that relates two flashes
	LeastLeadShare = leastLead  // of a beginning that must stand in the other text, if the texts have no number in common
)
