package schema

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the element of names that was probably meant by name; "" if none is similar.
func Nearest(name string, names []string) string {
	best, bestDistance := "", max(2, len(name)/4)+1
	for _, candidate := range names {
		d := levenshtein.ComputeDistance(name, candidate)
		// The user left out the section: "brokers" for "kafka.brokers".
		if strings.HasSuffix(candidate, "."+lastPart(name)) {
			d = min(d, 2)
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func lastPart(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// didYouMean returns the end of a message about an unknown name.
func didYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
