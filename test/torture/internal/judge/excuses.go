package judge

import (
	"fmt"

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

// Shadow checks the topic of a shadow: it has each input record, without its value, and the outputs of the
// service do not have any record of the shadow.
func Shadow(inputs map[string]*kgo.Record, outputs, shadowed []*kgo.Record) (bad []ledger.Violation) {
	if shadowed == nil {
		return nil
	}
	left := map[string]bool{}
	for input := range inputs {
		left[input] = true
	}
	for _, o := range shadowed {
		input := Input(o)
		if _, marked := ledger.Headers(o)[pipeline.HeaderShadow]; !marked || inputs[input] == nil || o.Value != nil {
			bad = append(bad, ledger.Violation{Kind: ledger.Stray,
				Text: fmt.Sprintf("%s is not what a shadow publishes of %q", ledger.Coordinates(o), input)})
		}
		delete(left, input)
	}
	for input := range left {
		bad = append(bad, ledger.Violation{Kind: ledger.Lost, Text: input + " has no output of the shadow"})
	}
	for _, o := range outputs {
		if _, marked := ledger.Headers(o)[pipeline.HeaderShadow]; marked {
			bad = append(bad, ledger.Violation{Kind: ledger.Stray, Text: ledger.Coordinates(o) + " is of the shadow"})
		}
	}
	return bad
}
