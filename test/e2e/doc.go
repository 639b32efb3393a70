// Package e2e tests the built binary as users run it: real Kafka, real Redis, real articles, two service
// processes of which one is stopped and started on the way.
package e2e
