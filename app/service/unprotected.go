package service

import (
	"echosieve/app/access"
	"echosieve/app/config"
	"echosieve/app/registry"
	"echosieve/internal/diag"
)

// Unprotected returns a warning for each setting that takes the protection from a connection. Such settings
// are allowed, because tests need them. The commands check and run show the warnings, because people forget
// to remove the settings after the test.
func Unprotected(cfg config.Config) []diag.Finding {
	var findings []diag.Finding
	for _, f := range []struct {
		component       string
		is              bool
		problem, remedy string
	}{
		{
			"kafka", cfg.Kafka.TLS.InsecureSkipVerify,
			"kafka.tls.insecure_skip_verify is set: anyone who can redirect a connection can read and change everything",
			"remove it, and name the authority in kafka.tls.ca_file",
		},
		{
			"redis", cfg.Redis.TLS.InsecureSkipVerify,
			"redis.tls.insecure_skip_verify is set: anyone who can redirect a connection can read and change everything",
			"remove it, and name the authority in redis.tls.ca_file",
		},
		{
			"kafka", cfg.Kafka.SASL.Mechanism == "plain" && !cfg.Kafka.TLS.Enabled,
			"kafka.sasl.mechanism is plain without TLS: the password is sent in clear text",
			"set kafka.tls.enabled: true, or kafka.sasl.mechanism: scram-sha-512",
		},
		{
			"kafka", cfg.Kafka.SASL.Mechanism == "oauthbearer" && !cfg.Kafka.TLS.Enabled,
			"kafka.sasl.mechanism is oauthbearer without TLS: the token is sent in clear text",
			"set kafka.tls.enabled: true",
		},
		{
			"redis", cfg.Redis.Password != "" && !cfg.Redis.TLS.Enabled,
			"redis.password is set without TLS: the password is sent in clear text",
			"set redis.tls.enabled: true, unless Redis runs on this machine",
		},
		{
			registry.Component, cfg.Input.Avro.Registry.Password != "" && !cfg.Input.Avro.Registry.Encrypted(),
			"input.registry.password is set without TLS: the password is sent in clear text",
			"begin input.registry.urls with https://",
		},
		{
			"http", access.SendsPasswords(cfg.HTTP),
			"http.listen takes logins without TLS: passwords and tokens are sent in clear text",
			"set cert_file and key_file under tls_server_config in the file of http.config_file, unless a proxy " +
				"before the listener speaks TLS",
		},
	} {
		if f.is {
			findings = append(findings, diag.Finding{Component: f.component, Severity: diag.Warning,
				Subject: "settings", Problem: f.problem, Remedy: f.remedy})
		}
	}
	return findings
}
