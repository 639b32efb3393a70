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

// The points in the order in which a batch passes them.
const (
	AfterFetch   Point = "after-fetch"
	AfterPrepare Point = "after-prepare"
	AfterPlace   Point = "after-place"
	AfterInsert  Point = "after-insert"
	AfterDraw    Point = "after-draw"
	AfterTicket  Point = "after-ticket"
	AfterLook    Point = "after-look"
	AfterRead    Point = "after-read"
	AfterDecide  Point = "after-decide"
	BeforeWrite  Point = "before-publish"
	BetweenSends Point = "between-publishes" // one output topic has the batch, the others may not
	AfterWrite   Point = "after-publish"
	AfterMark    Point = "after-mark"
	BeforeCommit Point = "before-commit"
	AfterCommit  Point = "after-commit"
)

// Points returns all of them.
func Points() []Point {
	return []Point{
		AfterFetch, AfterPrepare, AfterPlace, AfterInsert, AfterDraw, AfterTicket, AfterLook, AfterRead, AfterDecide,
		BeforeWrite, BetweenSends, AfterWrite, AfterMark, BeforeCommit, AfterCommit,
	}
}
