package consumer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/internal/remote"
	"echosieve/test/certs"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// issuer is a token endpoint and its public keys. Its clients have the secret "secret" and may have the scope "kafka".
// The client mallory gets tokens for another audience.
type issuer struct {
	name, endpoint, keys, ca string

	key    *ecdsa.PrivateKey
	issued atomic.Int64
}

// tokenLife is how long tokens are good: longer than the connections of the broker.
const tokenLife = 8 * time.Second

func newIssuer(t *testing.T, authority *certs.Authority) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{name: "https://issuer.test", ca: authority.File, key: key}
	keys := httptest.NewServer(http.HandlerFunc(i.serveKeys))
	t.Cleanup(keys.Close)
	pair := authority.ServerOn("127.0.0.1")
	certificate, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	require.NoError(t, err)
	endpoint := httptest.NewUnstartedServer(http.HandlerFunc(i.serveToken))
	endpoint.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	endpoint.StartTLS()
	t.Cleanup(endpoint.Close)
	i.keys, i.endpoint = keys.URL+"/keys", endpoint.URL+"/token"
	return i
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (i *issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	point, err := i.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"1","x":%q,"y":%q}]}`,
		encoded(point[1:33]), encoded(point[33:]))
}

func (i *issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	client, secret, _ := r.BasicAuth()
	audience, scope := "kafka", r.FormValue("scope")
	if client == "mallory" {
		audience = "elsewhere"
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.FormValue("grant_type") != "client_credentials" || secret != "secret":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	case scope != "kafka":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_scope"}`)
		return
	}
	i.issued.Add(1)
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": i.name, "aud": audience, "sub": client, "scope": scope, "iat": now.Unix(),
		"exp": now.Add(tokenLife).Unix(),
	})
	if err != nil {
		panic(err)
	}
	text := encoded([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encoded(claims)
	digest := sha256.Sum256([]byte(text))
	a, b, err := ecdsa.Sign(rand.Reader, i.key, digest[:])
	if err != nil {
		panic(err)
	}
	signature := slices.Concat(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32)))
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, text+"."+encoded(signature),
		int(tokenLife.Seconds()))
}

// try logs in to a real broker that checks the signatures of the tokens, and makes the mistakes of operators.
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
		"wrong audience": {func(l *broker.SASL) { l.Username = "mallory" }, "check issuer, audience"},
		"no rights":      {func(l *broker.SASL) { l.Username = "eve" }, "grant Read"},
	} {
		cfg := cfg
		c.spoil(&cfg.SASL)
		failed := false
		for _, f := range tools.Check(context.Background(), cfg) {
			if f.Severity == diag.Failure {
				failed = true
				require.Contains(t, f.Remedy, c.want, "%s: %+v", name, f)
				require.NotContains(t, fmt.Sprint(f), "wrong secret")
			}
		}
		require.True(t, failed, name)
	}
	began, before := time.Now(), i.issued.Load()
	outlive(t, admin, cfg)
	issued := i.issued.Load() - before
	require.GreaterOrEqual(t, issued, int64(2), "tokens are renewed")
	require.LessOrEqual(t, issued, 2+int64(time.Since(began)/(tokenLife/2)), "a token serves many logins")
}
