// Package diag describes faults of the servers of echosieve: a Problem is one error with its cause and a
// remedy, a Finding is one line of `echosieve check`. Faults of network and TLS are the same for Kafka and Redis, so
// Server.Explain explains them once for both. Errors that a broker or Redis sends, a refused login for example, are explained by the
// packages consumer and redisindex, which know the protocols.
package diag
