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
	if len(name) < shortName {
		most = 1
	}
	best, bestDistance := "", most+1
	for _, candidate := range names {
		d := levenshtein.ComputeDistance(name, candidate)
		if hasPart(candidate, lastPart(name)) {
			d = min(d, most)
		}
		if len(name) >= leastPrefix && strings.HasPrefix(candidate, name) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// shortName is the number of letters below which two typing errors would make another word.
const shortName = 5

// leastPrefix is how many letters of a name stand for the whole name.
const leastPrefix = 3

// hasPart says whether a part of the name behind its first dot is this one, or its plural: the user left out
// sections, as in "brokers" for "kafka.brokers" and "topic" for "kafka.topics.input".
func hasPart(name, part string) bool {
	parts := strings.Split(name, ".")
	return slices.Contains(parts[1:], part) || slices.Contains(parts[1:], part+"s")
}

func lastPart(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// didYouMean returns the end of a message about an unknown name.
func didYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
