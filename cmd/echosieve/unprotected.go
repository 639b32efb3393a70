package main

import "echosieve/internal/diag"

// unprotected says which settings give up what protects a connection. They are allowed, but check and run warn of them:
// they are made for a test and then forgotten.
func unprotected(cfg Config) []diag.Finding {
	var findings []diag.Finding
	for _, f := range []struct {
		component       string
		is              bool
		problem, remedy string
	}{
		{
			"kafka", cfg.Kafka.TLS.InsecureSkipVerify,
			"kafka.tls.insecure_skip_verify is set: whoever can redirect a connection can read and change everything",
			"remove it, and name the authority in kafka.tls.ca_file",
		},
		{
			"redis", cfg.Redis.TLS.InsecureSkipVerify,
			"redis.tls.insecure_skip_verify is set: whoever can redirect a connection can read and change everything",
			"remove it, and name the authority in redis.tls.ca_file",
		},
		{
			"kafka", cfg.Kafka.SASL.Mechanism == "plain" && !cfg.Kafka.TLS.Enabled,
			"kafka.sasl.mechanism is plain without TLS: the password travels as it is",
			"set kafka.tls.enabled: true, or kafka.sasl.mechanism: scram-sha-512",
		},
		{
			"redis", cfg.Redis.Password != "" && !cfg.Redis.TLS.Enabled,
			"there is a password for Redis but no TLS: it travels as it is",
			"set redis.tls.enabled: true, unless Redis runs on this machine",
		},
	} {
		if f.is {
			findings = append(findings, diag.Finding{Component: f.component, Severity: diag.Warning, Subject: "settings", Problem: f.problem, Remedy: f.remedy})
		}
	}
	return findings
}
