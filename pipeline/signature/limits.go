package signature

// Limits that are not settings, for tools that show them.
const (
	ContainedShare = contained // of the shorter text's word pairs: from here on, the longer text contains it
	LeastLeadShare = leastLead // of a beginning that must stand in the other text, if the texts have no number in common
)
