package storylist

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/semaphore"

	"echosieve/pipeline/record"
)

// mostLine bounds a line of FromFile, in bytes.
const mostLine = 1 << 20

// FromFile returns the list of the stories that filter --stories has written, for a process that has no Kafka. The list
// does not change, so nobody can follow it.
func FromFile(in io.Reader) (*List, error) {
	l := &List{window: math.MaxInt64, now: time.Now, turn: semaphore.NewWeighted(1)}
	l.clear(0)
	lines := bufio.NewScanner(in)
	for lines.Buffer(nil, mostLine); lines.Scan(); {
		var named struct {
			Root struct {
				Coordinates string `json:"coordinates"`
			} `json:"root"`
		}
		r := record.Record{Value: append([]byte(nil), lines.Bytes()...)}
		r.Offset = l.next
		if json.Unmarshal(r.Value, &named) == nil {
			r.Key = []byte(named.Root.Coordinates)
		}
		if parse(&r) == nil {
			return nil, fmt.Errorf("line %d is no story: name a file that \"echosieve filter --stories\" has written", l.next+1)
		}
		l.keep(&r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", l.next+1, err)
	}
	return l, nil
}
