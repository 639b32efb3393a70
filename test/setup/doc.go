// Package setup tests .ci/run, the gate, and the two commands of a fresh machine.
package setup
