package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the element of names that was probably meant by name; "" if none is similar.
func Nearest(name string, names []string) string {
	most := max(2, len(name)/4)
	best, bestDistance := "", most+1
	for _, candidate := range names {
		d := levenshtein.ComputeDistance(name, candidate)
		if hasPart(candidate, name[strings.LastIndex(name, ".")+1:]) {
			d = min(d, most)
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// hasPart says whether a part of the name behind its first dot is this one, or its plural: the user left out
// sections, as in "brokers" for "kafka.brokers" and "topic" for "kafka.topics.input".
func hasPart(name, part string) bool {
	parts := strings.Split(name, ".")
	return slices.Contains(parts[1:], part) || slices.Contains(parts[1:], part+"s")
}

// didYouMean returns the end of a message about an unknown name.
func didYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
