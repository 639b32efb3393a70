package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
)

// lane is one input partition's part of one output partition.
type lane struct {
	topic     string
	partition int32
	source    int32
}

// inOrder checks that each input partition's records lie in the partition of each output topic that the documentation
// names, input partition modulo the number of output partitions, and in their order. Redelivered records do not count for
// the order.
func inOrder(outputs []*kgo.Record, partitions int32) []Violation {
	var bad []Violation
	newest := map[lane]int64{}
	seen := make(map[string]bool, len(outputs))
	for _, out := range outputs {
		source := Headers(out)[pipeline.HeaderSource]
		from, err := parse(source)
		if err != nil {
			bad = append(bad, Violation{Stray, fmt.Sprintf("%s names the source %q", Coordinates(out), source)})
			continue
		}
		if home := from.Partition % partitions; out.Partition != home {
			bad = append(bad, Violation{Misplaced, fmt.Sprintf("%s is in %s, not in partition %d", source, Coordinates(out), home)})
		}
		l := lane{out.Topic, out.Partition, from.Partition}
		if !seen[source] {
			if last, known := newest[l]; known && from.Offset <= last {
				bad = append(bad, Violation{Order, fmt.Sprintf("%s came after offset %d in %s/%d", source, last, out.Topic, out.Partition)})
			}
			newest[l] = max(newest[l], from.Offset)
		}
		seen[source] = true
	}
	return bad
}

// parse reads coordinates as the headers give them.
func parse(source string) (article.Coordinates, error) {
	parts := strings.Split(source, "/")
	if len(parts) != 3 {
		return article.Coordinates{}, strconv.ErrSyntax
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return article.Coordinates{}, err
	}
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	return article.Coordinates{Topic: parts[0], Partition: int32(partition), Offset: offset}, err
}
