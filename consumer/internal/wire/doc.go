// Package wire turns the bytes of Kafka's protocol into records, and records into bytes. It sends the requests for
// which kafka-go's own client is not enough, in the forms of package kmsg, over kafka-go's connections: kafka-go keeps
// dialling, TLS, login and the routing to partition leaders. The package knows nothing of consumer
// groups, retries, metrics or the pipeline's decisions.
//
// # Why it exists
//
// kafka-go v0.4.51 has these faults and gaps:
//
//   - Its Reader hands out transaction markers and records of aborted transactions, never checks a batch's
//     checksum, and panics or loops on some compacted topics. Its Fetch response hides checksums and the last
//     offset of a batch, so that the offsets of records which compaction removed cannot be passed. See
//     Client.Fetch and Reader.
//   - It replaces the timestamp 0 by the current time and cannot put a producer id and sequence numbers into
//     a batch. See EncodeBatch, SetSequence and Client.Produce.
//   - It sends InitProducerId to the coordinator of the transactional id "", which needs a right on that id
//     and creates the topic __transaction_state. See Client.NewProducer.
//   - Its Metadata knows no topic ids and answers from a cache. Without ids a topic that was deleted and
//     recreated looks like the old one. See Client.Metadata.
//
// # What it accepts
//
// Record batches of message format 2 (Kafka 0.11 and later), with every codec: none, gzip, snappy (framed as
// by Java clients, or bare), lz4 and zstd. Older formats are an error that says so. A batch is decompressed
// one record at a time. A record above the given limit comes without its value, as record.Oversize. Lengths
// inside the data are never trusted with memory: the memory of a decompressor is computed from the headers of
// all its frames and blocks, and Reserve grants it before the decompressor is opened. A batch whose
// decompressor needs more than the largest window of zstd, 128 MiB, is not decompressed: all its records come
// as record.Oversize.
//
// # Mistakes of brokers and producers that it knows
//
//   - Brokers accept uncompressed batches whose offset deltas are wrong: each record may claim the batch's
//     first offset. Where no record of the batch is missing, the records are counted instead.
//   - Brokers need not send the ranges of aborted transactions in order. Redpanda has sent a newer one first.
//     Unsorted, a record of an aborted transaction would pass as committed.
//   - A listener accepts connections for a process that hangs. See Probe.
//
// Records are record.Record, the one type for a Kafka record in this module. It is plain data; a separate type in this
// package would be copied field by field for each record, with an allocation for its headers.
package wire
