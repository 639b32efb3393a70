// Package e2e tests the built binary as users run it, with real Kafka, real Redis and real articles, while
// processes and servers are stopped, killed and started again. It holds tests only.
package e2e
