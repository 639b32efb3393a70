package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/ledger"
	"echosieve/test/torture/internal/judge"
)

func TestForgivenOnlyAfterDestruction(t *testing.T) {
	for _, destroyed := range []bool{false, true} {
		s := NewSummary()
		s.Add(Result{Destroyed: destroyed, Violations: []ledger.Violation{{Kind: ledger.Twin}}})
		require.Equal(t, !destroyed, s.Failed())
		s.Add(Result{Destroyed: destroyed, Violations: []ledger.Violation{{Kind: ledger.Lost}}})
		require.True(t, s.Failed())
	}
}

func TestSummaryFails(t *testing.T) {
	require.True(t, NewSummary().Failed(), "no round was made")

	s := NewSummary()
	s.Add(Result{})
	s.Injected("kill")
	require.True(t, s.Failed(), "a fault did not fire")
	s.Fired("kill")
	require.False(t, s.Failed())

	s.Add(Result{Checked: judge.Census{"copies of copies": 0, "null values": 3}})
	require.True(t, s.Failed(), "no root was compared with the end of a chain")
	s.Add(Result{Checked: judge.Census{"copies of copies": 1, "null values": 0}})
	require.False(t, s.Failed(), "another round compared one")
}
