// Package consumer owns everything that speaks Kafka: it reads the input topic as a member of a consumer
// group, hands records to a Handler in batches, publishes what the Handler decides, and commits.
//
// Delivery is at least once: an offset is committed only after every output of the records before it has
// been acknowledged by all in-sync replicas. Records of one input partition keep their order in each output
// topic: input partition p always goes to output partition p modulo the number of output partitions.
//
// Fetching uses a record-batch reader of its own on top of kafka-go's connections: it checks checksums, reads
// every codec, and never hands out transaction markers or records of aborted transactions. Only message
// format 2 (Kafka 0.11 and later) is read; older formats are an error that says so.
//
// No other package imports kafka-go.
package consumer
