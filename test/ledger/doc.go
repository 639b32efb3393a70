// Package ledger accounts for what a service did with every input record: which were lost, answered in two ways, altered, misplaced
// or put out of order, and whether every chain of originals ends in the root that its copies name. The end-to-end tests and the fault
// runner share it.
package ledger
