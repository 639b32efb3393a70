package console

// reasons explains the reasons of verdicts on the page, by the names that headers have. A reason belongs to copies and possible copies; for
// others the page shows what a dead letter says of itself.
var reasons = map[string]string{
	"digest":   "equal text after cleaning",
	"distance": "the fingerprints are near enough",
	"overlap":  "the share of word pairs in common decides",
	"numbers":  "other numbers in the same places",
	"values":   "too few numbers in common for a copy",
	"little":   "two flashes, of which neither contains the other",
	"short":    "too short for its overlap to prove a copy",
	"lead":     "few numbers in common, and neither text contains the other's beginning",
	"opposite": "one says the opposite of the other",
	"subject":  "other names or topics",
	"unknown":  "a reason that this version does not know",
}
