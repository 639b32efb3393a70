package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"

	"echosieve/test/ledger"
)

// count is how often a fault was injected, and how often it was shown to have happened.
type count struct{ injected, fired int }

// summary adds up all rounds. Safe for concurrent use.
type summary struct {
	mu         sync.Mutex
	rounds     int
	records    int
	outputs    int
	texts      int
	peakMemory int64
	violations map[ledger.Kind]int
	allowed    map[ledger.Kind]int // after the schedule destroyed data in Redis
	faults     map[string]*count
	checked    census
}

// forgiven are the promises that Redis's data carry; after the schedule destroyed some of it they cannot be kept. Two articles that
// name each other (a cycle) are a lost text as well.
var forgiven = []ledger.Kind{ledger.Contradiction, ledger.Twin, ledger.Cycle, ledger.SelfDuplicate, ledger.WrongRoot, ledger.LostText}

func (s *summary) add(r *round, records, outputs, texts int, checked census) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violations == nil {
		s.violations, s.allowed, s.checked = map[ledger.Kind]int{}, map[ledger.Kind]int{}, census{}
	}
	s.rounds++
	s.records += records
	s.outputs += outputs
	s.texts += texts
	for name, n := range checked {
		s.checked[name] += n
	}
	s.peakMemory = max(s.peakMemory, r.peakMemory)
	for _, v := range r.violations {
		if r.destroyed && slices.Contains(forgiven, v.Kind) {
			s.allowed[v.Kind]++
		} else {
			s.violations[v.Kind]++
		}
	}
}

func (s *summary) fault(name string) *count {
	if s.faults[name] == nil {
		s.faults[name] = &count{}
	}
	return s.faults[name]
}

func (s *summary) injected(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault(name).injected++
}

func (s *summary) fired(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault(name).fired++
}

// failed says whether a promise was broken, a fault did not show, or a promise was not tested at all.
func (s *summary) failed() bool {
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

// always are the kinds that the table shows also at zero.
var always = []ledger.Kind{ledger.Lost, ledger.Contradiction, ledger.SelfDuplicate, ledger.Twin, ledger.Cycle, ledger.WrongRoot, ledger.LostText, ledger.Misplaced, ledger.Order}

func (s *summary) print(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var table bytes.Buffer // written as a whole: a test's log would show every cell as a line
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
		fmt.Fprintf(t, "%s\t%d%s\n", kind, s.violations[kind], s.note(kind))
	}
	for _, kind := range slices.Sorted(maps.Keys(s.violations)) {
		if !slices.Contains(always, kind) {
			fmt.Fprintf(t, "%s\t%d\n", kind, s.violations[kind])
		}
	}
	fmt.Fprintf(t, "redelivered\t%.2f%%\n", share(s.outputs-s.records, s.outputs))
	fmt.Fprintf(t, "most memory of a process\t%d MiB\n", s.peakMemory>>20)
}

func (s *summary) note(kind ledger.Kind) string {
	if n := s.allowed[kind]; n > 0 {
		return fmt.Sprintf(" (and %d in rounds that destroyed Redis's data)", n)
	}
	return ""
}

// share is part of whole in percent.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
