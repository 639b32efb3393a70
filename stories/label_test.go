package stories

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/record"
)

func TestParseLabel(t *testing.T) {
	parse := func(value string) (string, Label, error) {
		at, l, err := ParseLabel(&record.Record{Time: day, Value: []byte(value)})
		return at.String(), l, err
	}
	root, l, err := parse(`{"root":"articles/2/17","label":"retracted","text":"taken back","more":1}`)
	require.NoError(t, err)
	require.Equal(t, "articles/2/17", root)
	require.Equal(t, Label{"retracted", "taken back", day}, l)
	_, l, err = parse(`{"root":"a/0/1","label":"false","time":"2026-02-01T10:00:00.1234+01:00","text":"` +
		strings.Repeat("渡", 1000) + `"}`)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 2, 1, 9, 0, 0, 123e6, time.UTC), l.Time)
	require.Len(t, l.Text, 510)
	for value, want := range map[string]string{
		`{"root":"x","label":"false"}`: "root: ", `{"root":"a/0/1","label":"wrong"}`: "label: ", `no`: "is no label",
		`{"root":"a/0/1"}`: "label: ", ``: "is no label", `[]`: "is no label", `null`: "root: ",
	} {
		_, _, err = parse(value)
		require.ErrorContains(t, err, want, value)
	}
}

// Neither the order of labels and copies nor a repetition changes the record. The earliest labels stay.
func TestLabels(t *testing.T) {
	rules := &Rules{Window: time.Hour}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		root, all := randomStory(rng, 1+rng.IntN(20), 5)
		var given []Label
		for i := range rng.IntN(2 * MaxLabels) {
			given = append(given, Label{Labels[rng.IntN(4)], fmt.Sprint(i), day.Add(time.Duration(rng.IntN(9)) * time.Hour)})
		}
		record := func() Record {
			s := fold(rng, root, all, rules)
			for _, i := range rng.Perm(len(given)) { // each in a partition of its own, so in any order
				at := Position{Topic: 7, Partition: int32(i), Offset: 1}
				s.Label(at, given[i])
				s.Label(at, Label{Label: "false"})
				if rng.IntN(4) == 0 {
					var err error
					s, err = decoded(string(s.Encode(nil)))
					require.NoError(t, err)
				}
			}
			return s.Record(day, rules)
		}
		first := record()
		require.Equal(t, first, record(), "seed %d", seed)
		require.Len(t, first.Labels, min(len(given), MaxLabels))
	}
}
