package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"echosieve/pipeline"
	"echosieve/stories/projector"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Change is a kind of violation: the topic of changes does not hold what is new in a version once.
const Change Kind = "changes"

// CompareChanges returns a violation for each copy among the outputs that extends or revises its original, or overlaps
// with it, without exactly one record of the topic of changes under its root, and for each record that is of no output.
// Possible copies may have one, if one publisher published both.
func CompareChanges(outputs, got []*kgo.Record) (bad Violations) {
	roots, may := map[string]string{}, map[string]bool{}
	for _, o := range outputs {
		h := Headers(o)
		switch {
		case h[pipeline.HeaderVerdict] == "possible":
			may[Coordinates(o)] = true
		case slices.Contains([]string{"extends", "revises", "overlaps"}, h[pipeline.HeaderRelation]):
			roots[Coordinates(o)] = h[pipeline.HeaderRoot]
		}
	}
	seen := map[string][]string{} // the records of changes of each output
	for of := range roots {
		seen[of] = nil
	}
	for _, r := range got {
		of := Headers(r)[pipeline.HeaderInput]
		var v projector.Version
		root, must := roots[of]
		switch err := json.Unmarshal(r.Value, &v); {
		case err != nil || v.Root.Coordinates != string(r.Key) || (v.Changes == nil) == (v.Why == ""):
			bad.Add(Change, "%s is no record of a version: %s", Coordinates(r), r.Value)
		case must && root != v.Root.Coordinates, !must && !may[of]:
			bad.Add(Change, "%s is of %s, which has the root %q", Coordinates(r), of, root)
		}
		seen[of] = append(seen[of], fmt.Sprintf("%s of %s", Coordinates(r), r.Timestamp.UTC().Format("15:04:05.000")))
	}
	for _, of := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[of]) != 1 {
			bad.Add(Change, "%s has %d records of changes: %s", of, len(seen[of]), strings.Join(seen[of], ", "))
		}
	}
	return bad
}
