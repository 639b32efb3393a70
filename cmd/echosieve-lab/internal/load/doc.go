// Package load publishes articles at a given rate and measures what a user of the service sees: how long an article
// takes from its record timestamp until its verdict can be read, how many a second pass, and what CPU time and memory the service
// takes for it.
//
// One trial is: publish evenly for warm-up and duration, read the output topics meanwhile, then wait for every record that
// was published. A header of the load's own numbers the records; the service passes it on. What does not come back is reported
// as missing.
//
// A record is due at a moment that is fixed before the trial, and its timestamp is that moment. A publisher that is held up
// by a slow broker publishes late, and the wait counts as delay.
//
// The package starts and stops the servers and the service process that it is asked for, and nothing else. It imports
// no command: who calls it gives it the configuration and the way to start the service.
package load
