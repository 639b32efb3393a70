// Command torture is the fault runner: it starts a broker, Redis and several service processes, publishes numbered
// articles with known copies, injects faults drawn from a seeded schedule while they flow, and then accounts for every
// record. It ends with a summary table and exits non-zero if anything was lost, contradicted, let through twice or
// put out of order, or if a fault did not show that it had happened.
//
//	make torture ROUNDS=100 SEED=7
//	go run ./test/torture --rounds 1 --seed 7 --faults kill,redis-stall
//	go run ./test/torture --redis cluster
//
// A seed gives the articles, the order of the faults and their durations; what the machine's scheduler makes of them
// differs from run to run. Round i of seed S is round 1 of seed S+i-1.
package main
