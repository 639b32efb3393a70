// Package redisindex keeps the article index in Redis: a single server, one behind Sentinel, or a cluster.
//
// A batch of claims takes seven steps. Each is a pipelined round trip that is acknowledged before the next begins:
//
//	place   the fingerprints go into the lists of their blocks
//	insert  the entries go into their hashes
//	draw    numbers are drawn from a counter
//	ticket  each entry takes its number as its ticket, unless it has a ticket already
//	look    the block lists of the generations in reach are read
//	read    the entries of the nearest fingerprints are read; an entry without a ticket is given one
//	decide  the verdicts are written, in the order of tickets; of several for one article the first written counts
//
// An article is a copy if an alike article has a lower ticket. Of two alike articles the one with the higher
// ticket drew it after the other's insert, so it finds the other, at the latest as an entry without a ticket,
// which it then helps to one. Hence no lock and no transaction is needed, and all steps can be repeated: after any
// error the batch is run again from the start. Every command touches a single key, as a cluster wants it.
//
// A copy's root is its original's root, so a copy is decided after its original. Where another worker decides the original, the
// copy waits for that: a few milliseconds, as a rule. The lowest ticket without a verdict waits for nobody, so there is always
// progress (batch.decide). If the original's worker is dead, its partition goes to another process, which decides it. If its record is
// gone, the wait ends after Config.UndecidedTimeout, and the ticket of the original is withdrawn: it counts as not inserted yet.
//
// Redis 6.2 or later is needed. The original of a copy is the alike article with the lowest ticket, except that an
// exact repeat inside one generation is answered by the entry it repeats and stores nothing.
//
// The package owns every key below its namespace and nothing else in Redis. It knows nothing of Kafka and of
// what a fingerprint is made from. Loss of acknowledged writes (an evicting memory policy, an asynchronous
// failover) can let a copy through as unique and give a repeated claim another answer; Check warns of the set-ups in
// which that happens, and Options.WaitReplicas takes it away for failovers. Index.Monitor notices such losses, by numbers
// that only grow (life.go) and by INFO.
package redisindex
