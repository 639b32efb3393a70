// Package security tests the built binary with a Kafka and a Redis that require certificates, logins and
// rights. The documented rights must suffice, each of them must be necessary, and check and run must name
// cause and remedy of every usual mistake. It holds tests only.
package security
