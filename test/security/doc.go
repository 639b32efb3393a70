// Package security tests the built binary against a Kafka and a Redis that want certificates, logins and rights: that the
// documented rights suffice and each of them is needed, and that every usual mistake is named with its remedy.
package security
