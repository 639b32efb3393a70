package rig

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/test/articles"
	"echosieve/test/ledger"
)

// count says how often a fault was injected and how often it fired: was shown to have happened.
type count struct{ injected, fired int }

// Summary adds up all rounds. It is safe for concurrent use.
type Summary struct {
	mu         sync.Mutex
	rounds     int
	records    int
	texts      int
	violations map[ledger.Kind]int
	faults     map[string]*count
	checked    Census
}

// NewSummary returns a summary of no rounds.
func NewSummary() *Summary {
	return &Summary{violations: map[ledger.Kind]int{}, faults: map[string]*count{},
		checked: Census{}}
}

// Add adds a round.
func (s *Summary) Add(records, texts int, checked Census, bad ledger.Violations) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	s.records += records
	s.texts += texts
	for name, n := range checked {
		s.checked[name] += n
	}
	for _, v := range bad {
		s.violations[v.Kind]++
	}
}

// Violations is the number of violations of a kind.
func (s *Summary) Violations(kind ledger.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violations[kind]
}

func (s *Summary) fault(name string) *count {
	if s.faults[name] == nil {
		s.faults[name] = &count{}
	}
	return s.faults[name]
}

// Injected notes that a fault is injected.
func (s *Summary) Injected(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault(name).injected++
}

// Fired notes that an injected fault was shown to have happened.
func (s *Summary) Fired(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault(name).fired++
}

// Failed says whether a promise was broken, an injected fault did not fire, or a promise was not tested at all.
func (s *Summary) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.faults {
		if c.fired < c.injected {
			return true
		}
	}
	for _, n := range s.checked {
		if n == 0 {
			return true
		}
	}
	return len(s.violations) > 0 || s.rounds == 0
}

// always are the kinds that the table shows even if there were none.
var always = []ledger.Kind{ledger.Lost, ledger.Twice, ledger.Contradiction, ledger.SelfDuplicate, ledger.Twin,
	ledger.Cycle, ledger.WrongRoot, ledger.LostText, ledger.Misplaced, ledger.Order}

// Print writes the table.
func (s *Summary) Print(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var table bytes.Buffer // the table is written at once: a test's log would show every cell as a line of its own
	defer func() { _, _ = table.WriteTo(out) }()
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprintf(t, "\nfault\tinjected\tfired\n")
	for _, name := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(t, "%s\t%d\t%d\n", name, s.faults[name].injected, s.faults[name].fired)
	}
	fmt.Fprintf(t, "\nrounds\t%d\n", s.rounds)
	fmt.Fprintf(t, "records\t%d\n", s.records)
	fmt.Fprintf(t, "different texts\t%d\n", s.texts)
	for _, name := range slices.Sorted(maps.Keys(s.checked)) {
		fmt.Fprintf(t, "%s\t%d\n", name, s.checked[name])
	}
	for _, kind := range always {
		fmt.Fprintf(t, "%s\t%d\n", kind, s.violations[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(s.violations)) {
		if !slices.Contains(always, kind) {
			fmt.Fprintf(t, "%s\t%d\n", kind, s.violations[kind])
		}
	}
}

// Census counts the records without which a promise is not tested at all, by a name for the summary. A run in
// which a count stays zero has failed, because it has shown nothing about that promise.
type Census map[string]int

// Counts that the runner itself knows.
const (
	Skipped          = "records that an earlier owner had published"
	CommittedRecords = "records of committed transactions"
	AbortedRecords   = "records of aborted transactions"
)

// Counts that Count makes. The last two are prefixes.
const (
	copiesOfCopies = "copies of copies"
	nullValues     = "null values"
	compressed     = "records with compression "
	deadLetters    = "dead letters: "
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Count counts the records of the input topic, and the findings about the outputs.
func (c Census) Count(inputs map[string]*kgo.Record, found articles.Findings) {
	c[copiesOfCopies] = found.Links
	c[nullValues] = 0
	for _, name := range codecNames {
		c[compressed+name] = 0
	}
	for _, in := range inputs {
		c[compressed+codecNames[in.Attrs.CompressionType()]]++
		if in.Value == nil {
			c[nullValues]++
		}
	}
	for _, reason := range append(slices.Clone(articles.Breakable), record.TooLarge) {
		c[deadLetters+string(reason)] = found.Dead[reason]
	}
}
