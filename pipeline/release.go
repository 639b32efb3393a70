package pipeline

import (
	"crypto/sha256"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// HeaderRelease is a header of input records, the only one that is read: the coordinates of a record whose verdict
// somebody takes back. The record with the header is that record again. Its article is unique, whatever it resembles.
// The header stays on the output, from which a refill learns it.
const HeaderRelease = "echosieve-release"

// reasonReleased is the reason of a unique article whose record has HeaderRelease.
const reasonReleased = "released"

// ReleaseOf returns the coordinates in the record's header HeaderRelease. Without such a header, or with one that holds
// no coordinates, ok is false.
func ReleaseOf(r *record.Record) (released article.Coordinates, ok bool) {
	d := headerDecoder{headers: r.Headers}
	value := d.value(HeaderRelease)
	if value == "" || len(value) > maxCoordinatesBytes {
		return article.Coordinates{}, false
	}
	released, err := article.ParseCoordinates(value)
	return released, err == nil
}

// release makes the article one that takes the place of a dropped one. Its digest is that of no other text, so it is no
// exact copy of the dropped one. But all releases of one record share it: the second one is an exact copy of the
// first, whoever publishes it.
func release(a *article.Article, released article.Coordinates) {
	sum := sha256.Sum256(append([]byte(HeaderRelease+" "+released.String()+" "), a.Digest[:]...))
	a.Released, a.Digest = true, article.Digest(sum[:])
}
