// Package child has what tests need of the processes that they start: an end that is sure, and their memory.
package child
