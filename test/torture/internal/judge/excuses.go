package judge

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/test/ledger"
)

// Loss is a loss of all data in Redis after which a refill has filled the index. Offsets are by partition of
// the input topic.
type Loss struct {
	Committed map[int32]int64 // when the data was lost; no record from here on was decided yet
	Refilled  map[int32]int64 // ends of the topic when the refill had ended
}

// excuses says whether two articles may both come through: one was decided before the loss, and the other
// before the refill had ended.
func (l Loss) excuses(a, b string) bool {
	if Below(b, l.Committed) {
		a, b = b, a
	}
	return Below(a, l.Committed) && !Below(b, l.Committed) && Below(b, l.Refilled)
}

// regains says whether a was decided before the loss, and b after the refill.
func (l Loss) regains(a, b string) bool { return Below(a, l.Committed) && !Below(b, l.Refilled) }

// Excuses are what explains that a copy comes through.
type Excuses struct {
	Losses    []Loss
	Forgotten []string // coordinates of articles of which no later article is a copy
}

// Below says whether the offset of a record is below that of its partition.
func Below(input string, offsets map[int32]int64) bool {
	c, err := article.ParseCoordinates(input)
	return err == nil && c.Offset < offsets[c.Partition]
}

// Input returns the coordinates of the input record that an output belongs to.
func Input(output *kgo.Record) string { return ledger.Headers(output)[pipeline.HeaderInput] }
