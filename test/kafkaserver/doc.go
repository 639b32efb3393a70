// Package kafkaserver runs real Apache Kafka for tests: one broker and controller in one process, on loopback, with
// its data in a folder of the test. It needs Java 17 and Maven; Maven fetches the jars, which stay in the
// user's cache folder. A test that needs a broker and cannot have one fails; it never skips.
//
// With ECHOSIEVE_TEST_KAFKA (host:port,...) set, tests use that cluster instead; such a server cannot be killed
// or restarted.
package kafkaserver
