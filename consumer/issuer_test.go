package consumer

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/consumer/broker"
	"echosieve/internal/remote"
	"echosieve/test/certs"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

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
