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

// The points in the order in which a batch reaches them. Each comment says when the point fires, and what recovery finds.
const (
	// AfterFetch fires when a partition has received a fetch response with records. Nothing is durable yet: the records are fetched
	// again.
	AfterFetch Point = "after-fetch"
	// AfterPrepare fires when a chunk is decoded and fingerprinted, before the index sees it. Nothing is durable yet.
	AfterPrepare Point = "after-prepare"
	// AfterPlace fires when the fingerprints stand in their block lists, and no entry is stored. Others find fingerprints
	// without entries and ignore them. Recovery finds the fingerprints in the lists and adds the entries.
	AfterPlace Point = "after-place"
	// AfterInsert fires when the entries are stored, without tickets. Others that find such an entry give it a ticket. Recovery
	// keeps that ticket.
	AfterInsert Point = "after-insert"
	// AfterDraw fires after ticket numbers were drawn and before any entry holds one. Recovery draws new numbers. The unused
	// numbers leave a gap, which is allowed.
	AfterDraw Point = "after-draw"
	// AfterTicket fires when every entry of the batch has a ticket and none has a verdict. Recovery keeps the tickets.
	AfterTicket Point = "after-ticket"
	// AfterLook fires when the candidates are found. Nothing is stored since AfterTicket.
	AfterLook Point = "after-look"
	// AfterRead fires when the entries of the candidates are fetched. Nothing is stored since AfterTicket.
	AfterRead Point = "after-read"
	// AfterDecide fires when every entry of the batch has its verdict, and no output is published. Recovery publishes these
	// verdicts.
	AfterDecide Point = "after-decide"
	// BeforeWrite fires when the verdicts of a batch are stored in Redis and no output is sent. The records are delivered again and
	// must get the same verdicts.
	BeforeWrite Point = "before-publish"
	// BetweenSends fires when one output topic has its part of a batch; the other topics may not have theirs. All outputs are
	// published again, with the same verdicts.
	BetweenSends Point = "between-publishes"
	// AfterWrite fires when all outputs of a batch are acknowledged, before the mark. They are published again, with the same verdicts.
	AfterWrite Point = "after-publish"
	// AfterMark fires when the mark is set, in this process only. Recovery is that of AfterWrite.
	AfterMark Point = "after-mark"
	// BeforeCommit fires before the marks are sent to the broker. Recovery is that of AfterWrite.
	BeforeCommit Point = "before-commit"
	// AfterCommit fires when the broker has stored the offsets, before the process has noted it. Nothing before these offsets is
	// delivered again, and nothing after them may be lost.
	AfterCommit Point = "after-commit"
)

// Points returns all of them.
func Points() []Point {
	return []Point{
		AfterFetch, AfterPrepare, AfterPlace, AfterInsert, AfterDraw, AfterTicket, AfterLook, AfterRead, AfterDecide,
		BeforeWrite, BetweenSends, AfterWrite, AfterMark, BeforeCommit, AfterCommit,
	}
}
