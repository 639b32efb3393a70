// Package crashpoint names the places between two durable steps, at which a test ends the process. In a normal build
// Here is empty and costs nothing. Built with the tag crashpoints, a process whose environment says
//
//	ECHOSIEVE_TEST_CRASH=<point>:<n>[:term]
//
// kills itself with SIGKILL when it passes the point for the nth time; with ":term" it sends itself a SIGTERM there
// and goes on.
package crashpoint

// Variable is the environment variable that says where to crash.
const Variable = "ECHOSIEVE_TEST_CRASH"

// Point is a place between two durable steps.
type Point string

// The points in the order in which a take-over and a batch pass them.
const (
	// AfterInit fires when a take-over has got a new epoch. Leaders still accept batches of the former owner,
	// and recovery gets the next epoch.
	AfterInit Point = "after-init"
	// AfterAddPartitions fires when the transaction of a fence is open. Recovery makes the coordinator abort
	// it, which also fences.
	AfterAddPartitions Point = "after-add-partitions"
	// AfterEndTransaction fires when the transaction of a fence is committed, and its markers may not be
	// written yet. Recovery waits for its own marker, whatever becomes of these.
	AfterEndTransaction Point = "after-end-transaction"
	// AfterReadBack fires when the outputs were read back, before the partition runs. Nothing is published,
	// so recovery reads the same.
	AfterReadBack Point = "after-read-back"
	// AfterFetch fires when a partition has received a fetch response with records. Nothing is durable yet:
	// the records are fetched again.
	AfterFetch Point = "after-fetch"
	// AfterPrepare fires when a batch is decoded and fingerprinted, before the index sees it. Nothing is durable yet.
	AfterPrepare Point = "after-prepare"
	// AfterStoreLists fires after the fingerprints of the batch were added to their block lists, and before
	// its entries are stored. Until recovery, look-ups find fingerprints without entries and must ignore
	// them. Recovery must not add a fingerprint twice.
	AfterStoreLists Point = "after-store-lists"
	// AfterStoreEntries fires after the entries were stored, and before ticket numbers are drawn. Recovery
	// finds the batch's own entries by their coordinates, and must not take an article for a copy of itself.
	// Other articles may have given an entry a ticket by then.
	AfterStoreEntries Point = "after-store-entries"
	// AfterDrawTickets fires after ticket numbers were drawn, and before any entry holds one. Recovery draws
	// new numbers. The unused numbers leave a gap, which is allowed.
	AfterDrawTickets Point = "after-draw-tickets"
	// AfterLookUp fires after the entries got their tickets and the block lists were fetched. Recovery must
	// keep the tickets. Until then copies of these articles wait for the verdicts, at most
	// keyspace.Config.UndecidedTimeout.
	AfterLookUp Point = "after-look-up"
	// AfterFetchEntries fires after the candidates were judged, and before any verdict is written. Relatives
	// may have been given tickets. Recovery must keep these tickets.
	AfterFetchEntries Point = "after-fetch-entries"
	// AfterDecide fires after the verdicts were written, and before anything is published. Recovery must
	// publish exactly these verdicts.
	AfterDecide Point = "after-decide"
	// BeforePublish fires when the verdicts of a batch are stored in Redis and no output is sent. The records
	// are delivered again and must get the same verdicts.
	BeforePublish Point = "before-publish"
	// BetweenPublishes fires when one output topic has its part of a batch; the other topics may not have
	// theirs. All outputs are published again, with the same verdicts.
	BetweenPublishes Point = "between-publishes"
	// AfterPublish fires when all outputs of a batch are acknowledged, before they are committable. They are published
	// again, with the same verdicts.
	AfterPublish Point = "after-publish"
	// AfterCommittable fires when they are committable, in this process only. Recovery is that of AfterPublish.
	AfterCommittable Point = "after-committable"
	// BeforeCommit fires before the positions are sent to the broker. Recovery is that of AfterPublish.
	BeforeCommit Point = "before-commit"
	// AfterCommit fires when the broker has stored the offsets, before the process has noted it. Nothing
	// before these offsets is delivered again, and nothing after them may be lost.
	AfterCommit Point = "after-commit"
)

// Points returns all points, in the order in which a take-over and a batch pass them.
func Points() []Point {
	return append(TakeOver(),
		AfterFetch, AfterPrepare, AfterStoreLists, AfterStoreEntries, AfterDrawTickets, AfterLookUp,
		AfterFetchEntries, AfterDecide,
		BeforePublish, BetweenPublishes, AfterPublish, AfterCommittable, BeforeCommit, AfterCommit,
	)
}

// TakeOver returns the points that a process passes once for each of its partitions in a group generation.
func TakeOver() []Point {
	return []Point{AfterInit, AfterAddPartitions, AfterEndTransaction, AfterReadBack}
}
