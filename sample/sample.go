// Package sample holds the news articles that ship with Echosieve: for the demo, for trying a new installation, and for
// tests on machines without other texts. All people, places, companies and events are invented.
package sample

import (
	"bytes"
	_ "embed" // for the directive below
	"iter"
)

// News is the sample in JSON Lines: one record a line, in the order of publication, in Chinese and English. A
// record has the fields id, title, text, source and url, and two fields that tests use and the service
// ignores:
//
//   - kind: original; for a copy its edit, which is source_line, shortened, retitled, reworded, traditional,
//     html, fullwidth or exact; lookalike (other news on the template of another article); flash (less than
//     50 characters); broken (must become a dead letter).
//   - copy_of: of a copy, the id of its original, which is on an earlier line.
//
// Five records are broken. One line is not JSON and one is an empty object: these two have no kind. The
// others have no text, a text of the wrong type, and a text of which cleaning leaves nothing.
//
//go:embed news.jsonl
var News []byte

// Lines iterates over the records of News, without line ends.
func Lines() iter.Seq[[]byte] { return bytes.SplitSeq(bytes.TrimSpace(News), []byte("\n")) }
