// Package recipe turns a text into an article's fingerprint, digest, anchors and signature. It is pure: it knows neither Kafka nor
// Redis, and the same recipe id means the same results on every machine.
//
// The steps of the recipe news, in the order of Recipe.Fingerprint (fingerprint.go):
//
//   - clean the text: markup.go, clean.go, evasion.go, lookalike.go
//   - leave out what is no part of the article: the page around it (page.go), sentences of a table (table.go, sentence.go), and lines
//     (boilerplate.go). They are left out of fingerprint and signature, not of the digest: an exact copy is a copy of the whole page.
//   - cut the text into words: script.go, segment.go
//   - count and weigh the words: words.go, terms.go
//   - make fingerprint, digest (digest.go), anchors and signature (package signature)
//
// Everything that can change a result is part of the recipe's id (recipe.go).
package recipe
