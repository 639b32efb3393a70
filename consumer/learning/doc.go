// Package learning is the topic in which the processes of a service share what they have learnt: sentences that a
// publisher repeats (package pipeline/learnt). Its name is that of the first input topic with "-learnt" behind it.
//
// A row decides what is left out of an article, and so its fingerprint. A record that is delivered again, to any process
// at any time, must meet the same rows: the same coordinates always come with the same other fields (package article).
//
//  1. The topic has one partition, is compacted, and the broker stamps its records (message.timestamp.type is
//     LogAppendTime). So all processes see the same time of a row, whatever their clocks say. Another topic of that name
//     is refused, and a row that its writer stamped counts for nothing (Rejected).
//  2. A row counts for records whose timestamp is in [begin, begin + 30 days). Its begin is the first full hour that is
//     at least an hour after the broker appended it (Begin). Several rows of a sentence: their times together.
//  3. A process decides a record only if nothing that is appended later can begin at or before the record's timestamp
//     (horizon). It must have read the topic to its end shortly before; otherwise it reads to the end first (Await).
//  4. A key names its writer, one process from start to end, and what number the row has there. So no key comes twice,
//     and compaction, which keeps the last row of a key, moves no begin. A row whose acknowledgement was lost is
//     published under the next number: whether the first one stands in the topic or not, both begin late enough.
//  5. A writer publishes nothing of a sentence that has a row which counts for a week more. It publishes, then reads to
//     the end, then publishes again: so it has read what it wrote.
//  6. Null values remove rows that have been over for a window: the index has forgotten their records.
//
// What may happen, and what becomes of it:
//
//   - A record is delivered again, or another process takes a partition over: rule 3 makes it meet the same rows.
//   - Two processes learn one sentence at once: two keys, two rows, the earlier begin counts, in every process.
//   - Clocks are wrong by minutes: the horizon has ten minutes for them, those of brokers included.
//   - A record is stamped more than 50 minutes ahead of the clock of the process. It may meet a row, delivered again,
//     that it did not meet before. Waiting would stop the partition, so it is decided, and counted as ahead.
//   - The topic does not exist, and the service may not create it: it counts as empty, nothing is learnt, and /readyz
//     says so. When it is created, its rows begin late enough.
//   - The topic was deleted, and made again, or has lost its end: the rows are gone, the process says so once, and
//     learns anew. Records that are delivered again meanwhile can meet fewer rows.
//   - Brokers do not answer, or the right Read is taken away: nothing is lost. Records wait when the horizon is reached.
//     The log, /readyz and a metric say so. Without the right Write rows wait, at most maxPending.
//   - An older version in the group knows nothing of the topic: its recipe has another id, so it has its own index.
//   - A record of an archive is older than each row: none counts for it.
package learning
