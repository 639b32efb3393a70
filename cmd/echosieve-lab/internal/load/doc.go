// Package load is the command load. It publishes articles at a given rate and measures what a user of the
// service sees: the time from the timestamp of a record until its verdict can be read, the number of verdicts
// a second, and the CPU time and memory of the service.
//
// It publishes evenly during warm-up and duration, reads the output topics meanwhile, and then waits
// for the verdict of every published record. A header numbers the records; the service copies it to the
// output, as it does with all headers that are not its own. Records without a verdict are reported as
// missing.
//
// The rate fixes beforehand when each record is due, and that moment is the timestamp of the record. If a
// slow broker holds up the publisher, records are published late, and the time by which they are late counts
// as delay.
//
// command.go sets everything up; run.go and trial.go measure.
package load
