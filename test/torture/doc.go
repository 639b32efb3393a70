// Command torture is the fault runner. It starts Kafka, Redis and several service processes, publishes
// numbered articles with known copies, injects faults of a seeded schedule meanwhile, and then accounts for
// every record. It ends with a table and an exit code: 0 if the service kept every promise, 1 if it broke
// one, if an injected fault did not fire or if a promise was not tested, 2 if the run could not be finished.
//
//	make torture ROUNDS=100 SEED=7
//	go run ./test/torture --rounds 1 --seed 7 --faults kill,redis-stall
//	go run ./test/torture --redis cluster
//	go run ./test/torture --stories          # the role of stories under the same faults
//	go run ./test/torture --upgrade v0.1.0   # processes of two versions, forward and back
//	go run ./test/torture --help              # all flags and all faults
//
// The seed determines the articles, the order of the faults and their durations. The scheduling of the
// machine differs from run to run. Round i of seed S is round 1 of seed S+i-1.
//
// To add a fault: write its injector in internal/faults, in the file of the part that it touches, and add a
// line to the table in internal/faults/faults.go. To add a mistake that a round must notice: add a mutant to
// mutants_test.go. To add a check of the outputs: test/articles/judge.go, and test/ledger if the check needs no
// knowledge of the texts.
//
// The packages, from the inside out: test/articles (what is published, and what must come of it), internal/traffic
// (Kafka clients), internal/process (one service process), internal/rig (servers, proxies before them, the state of a
// round, outages), internal/faults, and this one (flags, schedules, rounds).
package main
