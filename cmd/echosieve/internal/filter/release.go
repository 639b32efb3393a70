package filter

import (
	"crypto/sha256"
	"fmt"

	"echosieve/app/drops"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

// releases are articles whose drop somebody takes back, by id or by FILE/RUN/NUMBER.
type releases map[string]bool

// readReleases returns the articles of the command line, and those that a file of marks says are wrongly dropped. The
// number of the run in a mark is that of an earlier run, so the id counts as well if the article has one.
func readReleases(names []string, marks string) (releases, error) {
	all := releases{}
	for _, name := range names {
		all[name] = true
	}
	if marks == "" {
		return all, nil
	}
	list, err := drops.ReadMarks(marks)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	for _, m := range list {
		if m.Wrong() {
			all[m.Record], all[m.ID] = true, true
		}
	}
	return all, nil
}

// apply gives the record the header of a release if its article is one of them. The header names the id in place of
// coordinates, which are others in each run: an article is released once.
func (r releases) apply(input decode.Config, it *record.Record) {
	if len(r) == 0 {
		return
	}
	content, _ := input.Decode(it)
	if !r[it.String()] && !r[content.ID] {
		return
	}
	name := article.Coordinates{Topic: fmt.Sprintf("id-%x", sha256.Sum256([]byte(content.ID)))}
	it.Headers = []record.Header{{Key: pipeline.HeaderRelease, Value: []byte(name.String())}}
}
