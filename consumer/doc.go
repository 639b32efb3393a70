// Package consumer owns everything that speaks Kafka. As a member of a consumer group it fetches the input topic, hands records to
// a Handler in batches, publishes the outputs that the Handler returns, and commits offsets. It also creates and checks topics
// (EnsureTopics, Check), publishes for command-line tools (Producer), and reads records outside of a group (Archive).
//
// Delivery is exactly once where brokers allow it (takeover.go, delivery.go), otherwise at least once. In both: committed offset <=
// acknowledged outputs <= decided verdicts <= stored entries. An offset is committed only after every output of the records before it was
// acknowledged by all in-sync replicas. Records that were published and not committed are delivered again after a crash, and get the same
// verdicts. With exactly once they are not published again.
//
// Records of one input partition keep their order in each output topic: input partition p always goes to output partition p modulo
// the number of output partitions.
//
// The path of a record: Consumer.Run joins the group (consumer.go), groupGeneration.start starts three goroutines for each assigned
// partition (generation.go), and they fetch, prepare and finish batches of records (partition.go). finish calls the Handler, publisher.publish
// waits for acknowledgements (publisher.go, writer.go), and groupGeneration.commit commits the marks.
//
// kafka-go forms the group and keeps connections. Its Reader and Writer are not used by the service: package wire reads and writes
// record batches instead, and its package comment says why. No package outside of consumer imports kafka-go.
package consumer
