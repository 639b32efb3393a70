// Package diag describes faults of the servers of echosieve: a Problem is one error with its cause and a
// remedy, a Finding is one line of `echosieve check`. Faults of network and TLS are the same for Kafka and
// Redis, so Server.Explain explains them once for both. Errors that a broker or Redis sends, a refused login
// for example, are explained by the packages consumer and redisindex, which know the protocols.
package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says what a Finding means for the service. Its text is printed by `echosieve check`.
type Severity string

// The severities. Only a Failure keeps the service from starting or from working.
const (
	OK      Severity = "ok"
	Info    Severity = "info"    // worth knowing, or could not be found out
	Warning Severity = "warning" // the service works, at a price that the finding names
	Failure Severity = "failure" // the service cannot start, or will stop working
)

// Finding is one result of a check.
type Finding struct {
	Component string   `json:"component"` // "recipe", "kafka", "registry", "redis" or "http"; the command sets it
	Severity  Severity `json:"severity"`
	Subject   string   `json:"subject"`           // what was checked: "topic articles", "127.0.0.1:6379 appendonly"
	Problem   string   `json:"problem,omitempty"` // the fault; for OK, the state that the check found
	Remedy    string   `json:"remedy,omitempty"`  // what to do
}

// New returns a finding. For OK the problem is the state that the check found, and the remedy is empty.
func New(severity Severity, subject, problem, remedy string) Finding {
	return Finding{Severity: severity, Subject: subject, Problem: problem, Remedy: remedy}
}

// Problem is an error of a server with its likely cause and what to do about it.
type Problem struct {
	Cause  string // half a sentence: the fault
	Remedy string // half a sentence: what to do
	Err    error  // as the client library reported it
	// Permanent says that trying again is pointless until somebody changes settings or rights.
	Permanent bool
}

// Error returns cause, remedy and the original error in one line.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: %s (%s)", p.Cause, p.Remedy, oneLine(p.Err))
}

// Unwrap returns the original error.
func (p *Problem) Unwrap() error { return p.Err }

// Finding returns the problem as a finding about subject.
func (p *Problem) Finding(severity Severity, subject string) Finding {
	return New(severity, subject, fmt.Sprintf("%s (%s)", p.Cause, oneLine(p.Err)), p.Remedy)
}

// oneLine puts the errors of several servers, which go-redis joins line by line, into one line, each once.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines[1:]) // the first line introduces the others
	return strings.Join(slices.Compact(lines), "; ")
}
