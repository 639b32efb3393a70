// Package redisindex keeps the article index in Redis: on a single server, on a server behind Sentinel, or on
// a Redis Cluster.
//
// An entry is what Redis keeps of an article. A block list holds the fingerprints that are stored under one
// value of a block, and so leads from an article to entries like it. The window is cut into slices of time:
// every key belongs to a slice and expires with it.
//
// Index.Claim decides articles together, in six steps. Each step is a pipelined round trip, or two for
// storeEntries if a fingerprint is stored already. Redis has acknowledged each step before the next step
// begins:
//
//  1. storeLists     adds the fingerprints to their block lists
//  2. storeEntries   stores the entries, without tickets and verdicts
//  3. drawTickets    draws one number for each article from a counter
//  4. lookUp         gives each entry its number as its ticket, unless the entry has a ticket already; fetches
//     the block lists of the slices in reach, and selects candidates
//  5. fetchEntries   fetches the entries of the candidates, and judges them; giveTickets gives a ticket to each
//     relative without one
//  6. decide         writes the verdicts, in the order of tickets
//
// They share one claim (claim.go): storing has steps 1 and 2 (store.go, lists.go), looking 3 to 5 (lookup.go), and
// deciding 6 (decide.go). The metric and the trace call the steps by these names in snake case (store_lists).
//
// An article is a copy if an article that it resembles has a lower ticket. The later of two copies always
// finds the earlier one: the article with the higher ticket drew it after the other article's entry was
// stored, and looks up only after that. The other entry may not have its ticket yet. Then the later article
// gives the other entry a ticket, which is higher than its own. So neither a lock nor a transaction is
// needed. All steps can be repeated: after an error the claim is run again from the first step. Every command
// has exactly one key, because a Redis Cluster refuses commands whose keys lie in different slots.
//
// A verdict, with its destination, never changes: if several workers reach a verdict for one article, the
// first verdict that is written counts.
//
// The root of a copy is the root of its original, so the original must be decided before its copy. If another
// worker decides the original, the copy waits for that, usually a few milliseconds. There is always progress,
// because the article with the lowest ticket of all undecided ones waits for nobody (see deciding). If
// the worker of the original is dead, its partition goes to another process, which decides the original. If
// the record of the original was deleted, nobody decides it. The wait then ends after
// keyspace.Config.UndecidedTimeout, and the ticket of the original is withdrawn: the copy is decided as if
// the original had not arrived.
//
// The original of a copy is the article with the lowest ticket among all articles that it is a copy of and
// that have its id, or, without one, among all that it is a copy of. Exact repeats within one slice are an
// exception: their original is the article whose entry is stored, and they store nothing.
//
// Package admin gives back articles that Redis has lost, without deciding them, and has the other tools of operators.
//
// Redis 6.2 or later is needed. The package owns every key below its namespace, and touches no other key. It
// does not know Kafka, and it does not make fingerprints.
//
// Redis can lose writes that it has acknowledged: by evicting keys, or by a failover to a replica that lacks
// the latest writes. A copy of a lost article passes as unique, and a redelivered record may then get another
// verdict than the first time. Package connection warns of set-ups in which that can happen, and waits for
// replicas so that a failover loses nothing; package watch notices it.
package redisindex
