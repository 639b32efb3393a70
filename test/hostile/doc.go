// Package hostile publishes malformed, strange and huge records to the built binary on real Kafka and Redis.
// Each must end in the right topic with the right reason, in bounded time and memory, and must not affect the
// records around it. To add a record: records_test.go. It holds tests only.
package hostile
