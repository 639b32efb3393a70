// Package diag holds what echosieve says about faults of its servers: a Problem is one error with its cause and a
// remedy, a Finding is one line of `echosieve check`. Faults of network and TLS are the same for Kafka and Redis, so
// Server.Explain explains them once for both. What a broker or Redis itself answers, a refused login for example, is explained
// by the packages consumer and redisindex, which know their protocols.
package diag
