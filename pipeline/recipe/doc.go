// Package recipe turns a text into an article's fingerprint, digest, anchors and signature. It is pure: it knows neither Kafka nor
// Redis, and the same recipe id means the same results on every machine.
//
// The steps are: clean (markup.go, clean.go, evasion.go), leave out lines that are no part of the article (boilerplate.go), cut into words
// (script.go, segment.go), weigh the words (terms.go), fingerprint (fingerprint.go). Whatever changes a result is part of the recipe's
// id (recipe.go).
package recipe
