// Package learnt knows which sentences a publisher repeats: a disclaimer, "about the company", "read also". They stand
// in many different articles, so they say nothing about one of them, and are left out of fingerprint and signature.
//
// A Counter counts the sentences of a stream. A sentence that stands in five different articles of one publisher
// within 30 days becomes a Row of that publisher. A sentence that three publishers repeat becomes a Row of everybody.
// Rows holds them: a Row counts for the articles of its time only. It ends 30 days after the sentence was repeated last.
//
// Two articles differ, for a sentence, if the lowest hashes of their other sentences differ, of those that are not
// learnt yet. So twenty copies of one article teach nothing, and of a notice one sentence after the other is learnt.
//
// What is learnt depends on the order of the articles. A caller that must give one article the same fingerprint
// whenever it comes says from when a Row counts: at the next article (InOrder), or at an agreed time that nobody has
// passed yet.
//
// Failure modes and limits:
//
//   - A Counter is bounded: a table of first sightings, in which a newer sentence takes the place of an older one, and
//     at most so many sentences with two sightings or more, of which the oldest go. A sentence that is forgotten is
//     learnt later. It is never learnt too early.
//   - Rows is bounded, too: beyond MaxRows no sentence is learnt until others have ended.
//   - The first four articles with a sentence are compared with it. An article before the begin of a Row and its copy
//     after it are compared with and without the sentence: a copy can be missed for one window.
//   - A publisher can only make others leave out a sentence if three publishers repeat it.
package learnt

import "time"

const (
	// MinBytes is the length of the shortest sentence that is learnt, in bytes of clean text: twelve Chinese characters,
	// or six English words. Shorter ones stand in articles, too.
	MinBytes = 36
	// Least is how many different articles of one publisher have a sentence that is learnt.
	Least = 5
	// Publishers is how many publishers repeat a sentence that is left out of everybody's articles.
	Publishers = 3
	// Life is the time within which a sentence is repeated, and how long a Row lasts after that.
	Life = 30 * 24 * time.Hour
	// Renewal is the time before the end of a Row with a Begin in which its sentence is learnt again.
	Renewal = 7 * 24 * time.Hour
	// MaxRows bounds the rows of a process.
	MaxRows = 40_000
	// Format is the version of the way in which sentences are cut and hashed. It is part of the recipe's id:
	// the same row must leave out the same sentences.
	Format = 2
)
