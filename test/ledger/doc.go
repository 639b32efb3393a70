// Package ledger accounts for what a service did with every input record: which were lost, answered in two ways, altered
// or put out of order, and whether every chain of originals ends. The end-to-end tests and the fault
// runner share it.
package ledger
