// Package recipe turns a text into an article's fingerprint, digest, anchors and signature. It is pure: it knows neither Kafka nor
// Redis, and the same recipe id means the same results on every machine.
//
// It puts three rooms together, in the order of Recipe.Fingerprint (fingerprint.go):
//
//   - package text cleans the text
//   - package page leaves out what is no part of the article
//   - package text cuts the article into words, counts and weighs them
//   - package simhash makes the fingerprint, identify the digest, package evidence the anchors and the signature
//
// Package evidence also judges two articles by their signatures. Everything that can change a result is part of the recipe's id (recipe.go).
// The classic recipes (package classic) share the digest only.
package recipe
