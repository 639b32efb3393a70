package consumer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"echosieve/internal/tlsfiles"
	"echosieve/test/kafkaserver"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSecuredKafka runs with TLS, logins and rights, and makes the mistakes that users make.
func TestSecuredKafka(t *testing.T) {
	if os.Getenv("ECHOSIEVE_TEST_KAFKA") != "" {
		t.Log("a secured broker is started besides the one given")
		t.Setenv("ECHOSIEVE_TEST_KAFKA", "")
	}
	keyStore, ca := certificates(t)
	s := kafkaserver.Start(t, kafkaserver.V4, kafkaserver.Secure(keyStore, ca, map[string]string{"alice": "secret", "eve": "evil"}))
	admin := realConfig(s, "secure")
	ensureTopics(t, admin)
	allow(t, admin, "alice")

	cfg := admin
	cfg.CreateTopics = false
	cfg.Brokers = []string{s.SecureAddr}
	cfg.TLS = tlsfiles.Config{Enabled: true, CAFile: ca, ServerName: "localhost"}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			cfg := cfg
			cfg.Group += mechanism
			cfg.SASL = SASL{Mechanism: mechanism, Username: "alice", Password: "secret"}
			produce(t, client(t, admin), numbered(admin.Topics.Input, "u", 30, 3)...)
			m := startMember(t, cfg, &router{})
			consumeUntil(t, admin, admin.Topics.out(), func(all []*kgo.Record) bool { return len(bySource(all)) >= 30 })
			m.stop(t)
			for _, f := range Check(context.Background(), cfg) {
				require.NotEqual(t, Failure, f.Severity, "%+v", f)
			}
		})
	}

	_, other := certificates(t)
	for name, c := range map[string]struct {
		spoil func(*Config)
		want  string
	}{
		"password":     {func(c *Config) { c.SASL.Password = "wrong" }, "check kafka.sasl.username and the password"},
		"no login":     {func(c *Config) { c.SASL = SASL{} }, "kafka.sasl.mechanism"},
		"no tls":       {func(c *Config) { c.TLS = tlsfiles.Config{} }, "kafka.tls.enabled"},
		"wrong ca":     {func(c *Config) { c.TLS.CAFile = other }, "kafka.tls.ca_file"},
		"wrong name":   {func(c *Config) { c.TLS.ServerName = "elsewhere" }, "kafka.tls.server_name"},
		"no rights":    {func(c *Config) { c.SASL.Username, c.SASL.Password = "eve", "evil" }, "grant Read"},
		"wrong group":  {func(c *Config) { c.Group = "x" }, "grant Read on the group"},
		"plain to tls": {func(c *Config) { c.Brokers = admin.Brokers }, "kafka.tls.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.SASL = SASL{Mechanism: "scram-sha-256", Username: "alice", Password: "secret"}
			c.spoil(&cfg)
			failed := false
			for _, f := range Check(context.Background(), cfg) {
				if f.Severity == Failure {
					failed = true
					t.Logf("%+v", f)
					require.Contains(t, f.Remedy, c.want)
				}
			}
			require.True(t, failed)
		})
	}
	t.Run("run ends on a wrong password", func(t *testing.T) {
		cfg := cfg
		cfg.SASL = SASL{Mechanism: "scram-sha-512", Username: "alice", Password: "wrong"}
		require.ErrorContains(t, runFor(t, cfg), "check kafka.sasl.username")
	})
	t.Run("run ends without a right on the group", func(t *testing.T) {
		cfg := cfg
		cfg.Group = "x"
		cfg.SASL = SASL{Mechanism: "scram-sha-512", Username: "alice", Password: "secret"}
		require.ErrorContains(t, runFor(t, cfg), "grant Read on the group")
	})
}

func runFor(t *testing.T, cfg Config) error {
	t.Helper()
	m := startMember(t, cfg, &router{})
	select {
	case err := <-m.done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("Run goes on")
		return nil
	}
}

// allow gives a user the rights that suffice: Read on the input topic and on groups that begin like the
// configured one, Write on the output topics.
func allow(t *testing.T, cfg Config, user string) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	add := func(kind kmsg.ACLResourceType, name string, pattern kmsg.ACLResourcePatternType, op kmsg.ACLOperation) {
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = kind, name, pattern
		c.Principal, c.Host, c.Operation, c.PermissionType = "User:"+user, "*", op, kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, c)
	}
	add(kmsg.ACLResourceTypeTopic, cfg.Topics.Input, kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLOperationRead)
	add(kmsg.ACLResourceTypeGroup, cfg.Group, kmsg.ACLResourcePatternTypePrefixed, kmsg.ACLOperationRead)
	for _, topic := range cfg.Topics.out() {
		add(kmsg.ACLResourceTypeTopic, topic, kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLOperationWrite)
	}
	res, err := req.RequestWith(context.Background(), client(t, cfg))
	require.NoError(t, err)
	for _, r := range res.Results {
		require.Zero(t, r.ErrorCode)
	}
}

// certificates makes an authority and a broker certificate for localhost and 127.0.0.1, and returns the files of
// the broker's key store and of the authority.
func certificates(t *testing.T) (keyStore, ca string) {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, authority, &key.PublicKey, caKey)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	keyStore, ca = filepath.Join(dir, "broker.pem"), filepath.Join(dir, "ca.pem")
	store := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	require.NoError(t, os.WriteFile(keyStore, store, 0o600))
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), 0o600))
	return keyStore, ca
}
