// Package sample holds the news that ships with Echosieve: for the demo, for trying out a new installation,
// and for tests without other texts. All places, companies and events in it are invented.
package sample

import (
	"bytes"
	_ "embed" // for the directive below
	"iter"
)

// News is the sample in JSON Lines: one record per line, in the order in which it should be published, Chinese
// and English mixed. A record has the fields id, title, text, source and url, and two more that the service
// ignores and tests use:
//
//   - kind says what the record is: original; source_line, shortened, retitled, reworded, traditional, html,
//     fullwidth or exact (a re-post, by the way in which it was changed); lookalike (other news on the same
//     template); flash (less than 50 characters); broken (must become a dead letter).
//   - copy_of is the id of the original that a re-post repeats; it stands on an earlier line.
//
// Five records are broken. One line is not JSON and one is an empty object, so these two have no kind. The other three have no text, text
// of the wrong type, and text of which cleaning leaves nothing.
//
//go:embed news.jsonl
var News []byte

// Lines iterates over the records of News, without line ends.
func Lines() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(News) {
			if !yield(bytes.TrimRight(line, "\n")) {
				return
			}
		}
	}
}
