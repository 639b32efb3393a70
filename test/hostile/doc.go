// Package hostile sends records that nobody should send through the built binary on real Kafka and Redis: each must end in
// the right topic for the right reason, in bounded time and memory, and the records around it must not notice.
package hostile
