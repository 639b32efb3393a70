package consumer

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/internal/remote"
	"echosieve/test/certs"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// TestSecuredKafka runs with TLS, logins and rights, and with the mistakes that users make in their settings.
func TestSecuredKafka(t *testing.T) {
	t.Parallel()
	authority := certs.NewAuthority(t)
	ca := authority.File
	issuer := newIssuer(t, authority)
	s := kafkaserver.Start(t, kafkaserver.V4, kafkaserver.Secure(authority.Server().Store, ca,
		map[string]string{"alice": "secret"}),
		kafkaserver.With("listener.name.login.oauthbearer.connections.max.reauth.ms", "5000"),
		kafkaserver.With("listener.name.secure.oauthbearer.connections.max.reauth.ms", "5000"))
	t.Run("tokens", func(t *testing.T) {
		t.Parallel()
		tokens(t, s)
	})
	t.Run("client credentials", func(t *testing.T) {
		t.Parallel()
		issuer.try(t, s)
	})
	admin := kafkatest.RealConfig(s, "secure")
	kafkatest.EnsureTopics(t, admin)
	allow(t, admin, "alice")

	cfg := admin
	cfg.CreateTopics = false
	cfg.Brokers = []string{s.SecureAddr}
	cfg.TLS = remote.TLS{Enabled: true, Files: remote.Files{CAFile: ca}, ServerName: "localhost"}
	for i, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			cfg := cfg
			cfg.Group += mechanism
			cfg.SASL = broker.SASL{Mechanism: mechanism, Username: "alice", Password: "secret"}
			kafkatest.Produce(t, kafkatest.Client(t, admin), kafkatest.Numbered(admin.Topics.Inputs[0], "u", 30, 3)...)
			m := startMember(t, cfg, &router{})
			kafkatest.ConsumeUntil(t, admin, kafkatest.OutTopics(admin.Topics),
				func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == 30*(i+1) })
			m.stop(t)
			for _, f := range tools.Check(context.Background(), cfg) {
				require.NotEqual(t, diag.Failure, f.Severity, "%+v", f)
				require.NotEqual(t, "producer id", f.Subject, "Write on the topics suffices: %+v", f)
			}
		})
	}

	other := certs.NewAuthority(t).File
	for name, c := range map[string]struct {
		spoil func(*broker.Config)
		want  string
	}{
		"password":   {func(c *broker.Config) { c.SASL.Password = "wrong" }, "check kafka.sasl.username and the password"},
		"wrong ca":   {func(c *broker.Config) { c.TLS.CAFile = other }, "kafka.tls.ca_file"},
		"wrong name": {func(c *broker.Config) { c.TLS.ServerName = "elsewhere" }, "kafka.tls.server_name"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.SASL = broker.SASL{Mechanism: "scram-sha-256", Username: "alice", Password: "secret"}
			c.spoil(&cfg)
			mistaken(t, cfg, c.want)
		})
	}
	find := func(ctx context.Context, cfg broker.Config, topic string) error {
		cfg.CreateTopics = false
		_, err := tools.FindInput(ctx, cfg, topic)
		return err
	}
	t.Run("a topic that is missing is named at once", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // a Producer tries twice as long
		defer cancel()
		missing := (*broker.MissingTopicsError)(nil)
		require.ErrorAs(t, find(ctx, admin, "nowhere"), &missing)
		require.Equal(t, []string{"nowhere"}, missing.Topics)
		require.NoError(t, find(ctx, admin, admin.Topics.Inputs[0]))
		cfg := cfg
		cfg.SASL = broker.SASL{Mechanism: "scram-sha-256", Username: "alice", Password: "secret"}
		require.NoError(t, find(ctx, cfg, cfg.Topics.Unique), "the right Write is enough")
		require.ErrorContains(t, find(ctx, cfg, "nowhere"), "grant Write on it, and check that it exists")
		cfg.SASL = broker.SASL{}
		require.ErrorContains(t, find(ctx, cfg, cfg.Topics.Unique), "the listener wants a login")
	})
	t.Run("a controller is no broker", func(t *testing.T) {
		cfg := admin
		cfg.Brokers = []string{s.ControllerAddr}
		want := s.ControllerAddr + " is the port of a controller"
		require.ErrorContains(t, find(t.Context(), cfg, cfg.Topics.Inputs[0]),
			want+": set kafka.brokers to a listener for clients, port 9092 as a rule")
		require.Contains(t, tools.Check(t.Context(), cfg)[0].Problem, want)
	})
	t.Run("listeners", func(t *testing.T) { listeners(t, s, cfg) })
}

// mistaken requires that each failure that check finds has the remedy, and that there is one.
func mistaken(t *testing.T, cfg broker.Config, want string) {
	t.Helper()
	failures := slices.DeleteFunc(tools.Check(t.Context(), cfg),
		func(f diag.Finding) bool { return f.Severity != diag.Failure })
	require.NotEmpty(t, failures)
	for _, f := range failures {
		require.Contains(t, f.Remedy, want, "%+v", f)
	}
}

// listeners tries each kind of client with each kind of listener.
func listeners(t *testing.T, s *kafkaserver.Server, cfg broker.Config) {
	const (
		fits   = ""
		login  = "set kafka.sasl.mechanism, kafka.sasl.username and a password"
		logout = `set kafka.sasl.mechanism to ""`
		encode = "set kafka.tls.enabled: true"
		decode = "set kafka.tls.enabled: false"
	)
	encrypted := cfg.TLS
	for _, listener := range []struct {
		name, addr                          string
		plain, withLogin, withTLS, withBoth string
	}{
		{"PLAINTEXT", s.Addr, fits, logout, decode, decode},
		{"SASL_PLAINTEXT", s.LoginAddr, login, fits, decode, decode},
		{"SSL", s.TLSAddr, encode, encode, fits, logout},
		{"SASL_SSL", s.SecureAddr, encode, encode, login, fits},
	} {
		for _, c := range []struct {
			name       string
			tls, login bool
			want       string
		}{
			{"plain", false, false, listener.plain},
			{"login", false, true, listener.withLogin},
			{"TLS", true, false, listener.withTLS},
			{"TLS and login", true, true, listener.withBoth},
		} {
			for _, mechanism := range []string{"plain", "scram-sha-256"} {
				cfg := cfg
				cfg.Brokers, cfg.TLS, cfg.SASL = []string{listener.addr}, remote.TLS{}, broker.SASL{}
				if c.tls {
					cfg.TLS = encrypted
				}
				if c.login {
					cfg.SASL = broker.SASL{Mechanism: mechanism, Username: "alice", Password: "secret"}
				}
				f := tools.Check(t.Context(), cfg)[0]
				if c.want == fits {
					require.Equal(t, diag.OK, f.Severity, "%s to %s: %+v", c.name, listener.name, f)
					continue
				}
				require.Equal(t, diag.Failure, f.Severity, "%s to %s: %+v", c.name, listener.name, f)
				require.Contains(t, f.Remedy, c.want, "%s to %s: %+v", c.name, listener.name, f)
			}
		}
	}
}

// allow gives a user the rights that suffice: Read on the input topic and on groups that begin like the
// configured one, Write on the output topics.
func allow(t *testing.T, cfg broker.Config, user string) {
	t.Helper()
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	rights := func(op kadm.ACLOperation, pattern kadm.ACLPattern) *kadm.ACLBuilder {
		return kadm.NewACLs().Allow("User:" + user).AllowHosts("*").Operations(op).ResourcePatternType(pattern)
	}
	for _, acls := range []*kadm.ACLBuilder{
		rights(kadm.OpRead, kadm.ACLPatternLiteral).Topics(cfg.Topics.Inputs[0]),
		rights(kadm.OpRead, kadm.ACLPatternPrefixed).Groups(cfg.Group),
		rights(kadm.OpWrite, kadm.ACLPatternLiteral).Topics(kafkatest.OutTopics(cfg.Topics)...),
	} {
		created, err := admin.CreateACLs(t.Context(), acls)
		require.NoError(t, err)
		for _, c := range created {
			require.NoError(t, c.Err)
		}
		require.Eventually(t, func() bool { // the broker applies rules a moment later
			known, err := admin.DescribeACLs(context.Background(), acls)
			return err == nil && !slices.ContainsFunc(known,
				func(d kadm.DescribeACLsResult) bool { return len(d.Described) == 0 })
		}, kafkatest.Patience, 10*time.Millisecond)
	}
}

// unsecured returns an unsecured JSON Web Token, which Kafka's own validator for development takes.
func unsecured(user string, issued, end time.Time) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, issued.Unix(),
		end.Unix())) + "."
}

// tokens logs in to a real broker with tokens of a file that is replaced while the process runs, and with the
// mistakes of operators. The broker wants a new login of every connection after five seconds.
func tokens(t *testing.T, s *kafkaserver.Server) {
	admin := kafkatest.RealConfig(s, "oauth")
	kafkatest.EnsureTopics(t, admin)
	allow(t, admin, "bob")
	cfg := admin
	cfg.CreateTopics, cfg.Brokers = false, []string{s.LoginAddr}
	file := filepath.Join(t.TempDir(), "token")
	cfg.SASL = broker.SASL{Mechanism: "oauthbearer", TokenFile: file}
	write := func(token string) error { // whoever reads the file never finds a part of a token
		return errors.Join(os.WriteFile(file+".new", []byte(token+"\n"), 0o600), os.Rename(file+".new", file))
	}
	now := time.Now()

	for name, c := range map[string]struct{ token, want string }{
		"no file": {"", "have a program write it"},
		"expired": {
			unsecured("bob", now.Add(-time.Hour), now.Add(-time.Minute)), "check issuer, audience, scope and expiry",
		},
		"no token":  {"not.a.token", "check issuer, audience"},
		"no rights": {unsecured("eve", now, now.Add(time.Hour)), "grant Read"},
	} {
		if c.token != "" {
			require.NoError(t, write(c.token))
		}
		t.Log(name)
		mistaken(t, cfg, c.want)
		_ = os.Remove(file)
	}

	// Connections are closed every five seconds, and tokens are good for eight; a program writes one each second. The
	// group's connection is one of them: each time it ends, the group generation ends, too.
	renew := func() error {
		now := time.Now()
		return write(unsecured("bob", now, now.Add(8*time.Second)))
	}
	require.NoError(t, renew())
	ended, end := context.WithCancel(t.Context())
	var program sync.WaitGroup
	program.Go(func() {
		for tick := time.Tick(time.Second); ended.Err() == nil; <-tick {
			assert.NoError(t, renew())
		}
	})
	defer program.Wait()
	defer end()
	outlive(t, admin, cfg)
}

// outlive runs a member until connections have ended several times.
func outlive(t *testing.T, admin, cfg broker.Config) {
	m := startMember(t, cfg, &router{})
	for start, sent := time.Now(), 0; m.value(t, "echosieve_consumer_rebalances_total") < 3; {
		require.Less(t, time.Since(start), kafkatest.Patience)
		kafkatest.Produce(t, kafkatest.Client(t, admin),
			kafkatest.Numbered(admin.Topics.Inputs[0], fmt.Sprint("r", sent), 3, 3)...)
		sent += 3
		kafkatest.ConsumeUntil(t, admin, kafkatest.OutTopics(admin.Topics),
			func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == sent })
	}
	m.stop(t)
}

// issuer is a token endpoint. Its clients have the secret "secret" and may have the scope "kafka". What the client
// mallory gets is no token.
type issuer struct {
	endpoint, ca string

	issued atomic.Int64
}

// tokenLife is how long tokens are good: longer than the connections of the broker.
const tokenLife = 8 * time.Second

func newIssuer(t *testing.T, authority *certs.Authority) *issuer {
	i := &issuer{ca: authority.File}
	pair := authority.ServerOn("127.0.0.1")
	certificate, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	require.NoError(t, err)
	endpoint := httptest.NewUnstartedServer(i)
	endpoint.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	endpoint.StartTLS()
	t.Cleanup(endpoint.Close)
	i.endpoint = endpoint.URL + "/token"
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, secret, _ := r.BasicAuth()
	now := time.Now()
	token, refusal := unsecured(client, now, now.Add(tokenLife)), ""
	switch {
	case r.FormValue("grant_type") != "client_credentials" || secret != "secret":
		refusal = "invalid_client"
	case r.FormValue("scope") != "kafka":
		refusal = "invalid_scope"
	case client == "mallory":
		token = "not.a.token"
	}
	w.Header().Set("Content-Type", "application/json")
	if refusal != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, refusal)
		return
	}
	i.issued.Add(1)
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, int(tokenLife.Seconds()))
}

// try logs in to a real broker, and makes the mistakes of operators.
func (i *issuer) try(t *testing.T, s *kafkaserver.Server) {
	admin := kafkatest.RealConfig(s, "credentials")
	kafkatest.EnsureTopics(t, admin)
	allow(t, admin, "carol")
	cfg := admin
	cfg.CreateTopics, cfg.Brokers = false, []string{s.SecureAddr}
	cfg.TLS = remote.TLS{Enabled: true, Files: remote.Files{CAFile: i.ca}, ServerName: "localhost"}
	cfg.SASL = broker.SASL{
		Mechanism: "oauthbearer", Username: "carol", Password: "secret", TokenURL: i.endpoint, Scopes: "kafka",
		Extensions: "logicalCluster=lkc-1,identityPoolId=pool-1",
	}
	require.NoError(t, cfg.Validate())
	for name, c := range map[string]struct {
		spoil func(*broker.SASL)
		want  string
	}{
		"wrong secret": {
			func(l *broker.SASL) { l.Password = "wrong" }, "check kafka.sasl.username (client id), kafka.sasl.password_file",
		},
		"scope": {func(l *broker.SASL) { l.Scopes = "" }, "check kafka.sasl.scopes"},
		"away": {
			func(l *broker.SASL) { l.TokenURL = "https://127.0.0.1:1/token" }, "check that it runs, kafka.sasl.token_url",
		},
		"other name": {
			func(l *broker.SASL) { l.TokenURL = strings.Replace(i.endpoint, "127.0.0.1", "127.0.0.2", 1) },
			"kafka.sasl.token_url",
		},
		"no token":  {func(l *broker.SASL) { l.Username = "mallory" }, "check issuer, audience"},
		"no rights": {func(l *broker.SASL) { l.Username = "eve" }, "grant Read"},
	} {
		cfg := cfg
		c.spoil(&cfg.SASL)
		t.Log(name)
		mistaken(t, cfg, c.want)
	}
	began, before := time.Now(), i.issued.Load()
	outlive(t, admin, cfg)
	issued := i.issued.Load() - before
	require.GreaterOrEqual(t, issued, int64(2), "tokens are renewed")
	require.LessOrEqual(t, issued, 2+int64(time.Since(began)/(tokenLife/2)), "a token serves many logins")
}
