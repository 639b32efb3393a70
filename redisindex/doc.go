// Package redisindex keeps the article index in Redis: a single server, one behind Sentinel, or a cluster.
//
// A batch of claims takes six steps, each a pipelined round trip that is acknowledged before the next begins:
//
//	place   the fingerprints go into the lists of their blocks
//	insert  the entries go into their hashes
//	ticket  numbers are drawn from a counter; each entry keeps the first it is given
//	look    the block lists of the generations in reach are read
//	read    the entries of the fingerprints within the maximal distance are read; one without a ticket is given one
//	decide  the verdict is written; what counts is the first one written
//
// An article is a copy if an alike article has a lower ticket. Of two alike articles the one with the higher
// ticket drew it after the other's insert, so it finds the other, at the latest as an entry without a ticket,
// which it then helps to one. Hence no lock and no transaction is needed, and all steps can be repeated: after any
// error the batch is run again from the start. Every command touches a single key, as a cluster wants it.
//
// Redis 6.2 or later is needed. The original of a copy is the alike article with the lowest ticket, except that an
// exact repeat inside one generation is answered by the entry it repeats and stores nothing.
//
// The package owns every key below its namespace and nothing else in Redis. It knows nothing of Kafka and of
// what a fingerprint is made from. Loss of acknowledged writes (an evicting memory policy, an asynchronous
// failover) can let a copy through as unique and give a repeated claim another answer; Check warns of the set-ups in
// which that happens, and Options.WaitReplicas takes it away for failovers.
package redisindex
