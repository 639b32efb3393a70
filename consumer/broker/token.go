package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"echosieve/internal/diag"
	"echosieve/internal/remote"
)

// mechanismOAuth is the value of kafka.sasl.mechanism for oauth.
const mechanismOAuth = "oauthbearer"

// oauth is SASL OAUTHBEARER (RFC 7628). The next token may be good, so a token that is refused is no reason to end.
type oauth struct {
	token      func(context.Context) (string, error)
	extensions string // as they follow the token
}

var _ sasl.Mechanism = oauth{}

func (s SASL) loadOAuth(caFile string) (sasl.Mechanism, error) {
	o := oauth{token: tokenFile(s.TokenFile).read, extensions: s.sentExtensions()}
	if s.TokenURL == "" {
		return o, nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if caFile != "" {
		roots, err := remote.WithSystem(caFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.%w", err)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	o.token = s.newIssuer(transport).current
	return o, nil
}

// sentExtensions returns the extensions as they follow the token.
func (s SASL) sentExtensions() string {
	if s.Extensions == "" {
		return ""
	}
	return strings.ReplaceAll(s.Extensions, ",", "\x01") + "\x01"
}

// validOAuth says what is wrong with the settings of tokens; empty: nothing.
func (s SASL) validOAuth() (key, why string) {
	endpoint, err := url.Parse(s.TokenURL)
	switch {
	case s.Mechanism != "" && s.Mechanism != mechanismOAuth && s.TokenFile+s.TokenURL+s.Scopes+s.Extensions != "":
		return "sasl", "has settings of tokens, but sasl.mechanism is not oauthbearer: remove them"
	case s.Mechanism != mechanismOAuth:
		return "", ""
	case (s.TokenFile == "") == (s.TokenURL == ""):
		return "sasl.mechanism", "oauthbearer needs sasl.token_file or sasl.token_url, and not both"
	case s.TokenFile != "" && s.Username+s.Password+s.Scopes != "":
		return "sasl.token_file", "needs no sasl.username, sasl.password and sasl.scopes: remove them"
	case s.TokenURL != "" && (err != nil || endpoint.Host == "" || endpoint.User != nil ||
		endpoint.Scheme != "https" && (endpoint.Scheme != "http" || endpoint.Hostname() != "localhost" &&
			!net.ParseIP(endpoint.Hostname()).IsLoopback())):
		return "sasl.token_url", "must begin with https://, or lead to this machine, and hold no password"
	}
	for one := range strings.SplitSeq(s.Extensions, ",") {
		name, value, _ := strings.Cut(one, "=")
		if s.Extensions != "" && (name == "" || name == "auth" || value == "" || strings.ContainsRune(one, 1)) {
			return "sasl.extensions", "must be like logicalCluster=lkc-1,identityPoolId=pool-1"
		}
	}
	return "", ""
}

// Name implements sasl.Mechanism.
func (oauth) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism.
func (o oauth) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	token, err := o.token(ctx)
	if err != nil {
		return nil, nil, err
	}
	return o, []byte("n,,\x01auth=Bearer " + token + "\x01" + o.extensions + "\x01"), nil
}

// Next implements sasl.StateMachine. A broker that refuses the token sends why, as JSON.
func (oauth) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	if len(challenge) == 0 {
		return true, nil, nil
	}
	var refusal struct{ Status, Scope string }
	if err := json.Unmarshal(challenge, &refusal); err != nil || refusal.Status == "" {
		refusal.Status = "no reason given"
	}
	return false, nil, &diag.Problem{
		Cause: "the broker refused the token: " + refusal.Status,
		Remedy: "check issuer, audience, scope and expiry of the token, and kafka.sasl.extensions, against the " +
			"broker's sasl.oauthbearer settings",
		Err: kafka.SASLAuthenticationFailed,
	}
}

// isToken says whether a text can be sent as a token.
func isToken(text string) bool { return text != "" && !strings.ContainsAny(text, "\x01 \n") }

// tokenFile names a file that another program keeps fresh.
type tokenFile string

// read returns the token that the file holds now.
func (f tokenFile) read(context.Context) (string, error) {
	data, err := os.ReadFile(string(f))
	token := string(bytes.TrimSpace(data))
	if err == nil && !isToken(token) {
		err = errors.New("the file does not hold one token")
	}
	if err != nil {
		return "", &diag.Problem{
			Cause:  "there is no token to log in with",
			Remedy: "have a program write it to the file of kafka.sasl.token_file", Err: err,
		}
	}
	if end := expiry(token); !end.IsZero() && time.Now().After(end) {
		return "", &diag.Problem{
			Cause:  "the token in the file of kafka.sasl.token_file has expired",
			Remedy: "look for the program that should renew it, and compare the clocks",
			Err:    fmt.Errorf("it was good until %s", end.UTC().Format(time.RFC3339)),
		}
	}
	return token, nil
}

const (
	// tokenTimeout bounds a request to the token endpoint. A login, of which it is a part, has dialTimeout.
	tokenTimeout = 5 * time.Second
	// tokenPause is the time after a failed request in which logins fail, or use the old token, without another one.
	tokenPause = time.Second
)

// issuer gets tokens from a token endpoint, by client credentials (RFC 6749, section 4.4). One token serves all logins
// until four fifths of its life are over. While the endpoint is away, it serves until its end.
type issuer struct {
	config clientcredentials.Config
	client *http.Client

	mu    sync.Mutex
	token string
	err   error
	end   time.Time // of token; zero: unknown
	next  time.Time // when the endpoint is asked again
}

func (s SASL) newIssuer(transport http.RoundTripper) *issuer {
	return &issuer{
		client: &http.Client{
			Transport: transport, Timeout: tokenTimeout,
			// A redirect would take the secret elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		config: clientcredentials.Config{
			ClientID: s.Username, ClientSecret: s.Password, TokenURL: s.TokenURL, Scopes: strings.Fields(s.Scopes),
			AuthStyle: oauth2.AuthStyleInHeader, // as Kafka's own clients do it
		},
	}
}

func (i *issuer) current(ctx context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	if now.Before(i.next) {
		return i.token, i.err
	}
	// The answer serves other logins, too: the end of this one does not end the request.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, i.client)
	t, err := i.config.Token(ctx)
	if err == nil && !isToken(t.AccessToken) {
		err = errors.New("the answer does not hold one token")
	}
	if err == nil {
		i.token, i.err, i.end = t.AccessToken, nil, t.Expiry
		if i.end.IsZero() {
			i.end = expiry(i.token)
		}
		i.next = now.Add(i.end.Sub(now) * 4 / 5)
	} else {
		i.next = now.Add(tokenPause)
		if !now.Before(i.end) {
			i.token, i.err = "", explainToken(err)
		}
	}
	return i.token, i.err
}

// tokenEndpoint names the token endpoint in explanations of faults of network.
var tokenEndpoint = diag.Server{
	Name: "the token endpoint", Kind: "token endpoint", TLS: "kafka.tls", Addresses: "kafka.sasl.token_url",
	PlainHint: "begin kafka.sasl.token_url with http://, or use the TLS port", TLSSetting: "its listener",
	ClosedHint: "check that kafka.sasl.token_url names the port of the endpoint",
	SlowHint:   "check kafka.sasl.token_url, the network, and proxies and firewalls on the way",
}

func explainToken(err error) error {
	p := &diag.Problem{Cause: "the token endpoint gave no token", Remedy: "check kafka.sasl.token_url", Err: err}
	var refusal *oauth2.RetrieveError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refusal):
		switch status := refusal.Response.StatusCode; {
		case refusal.ErrorCode == "invalid_scope":
			p.Cause, p.Remedy, p.Permanent = "the token endpoint refused the scope", "check kafka.sasl.scopes", true
		case refusal.ErrorCode == "invalid_client", refusal.ErrorCode == "unauthorized_client",
			status == http.StatusUnauthorized:
			p.Cause, p.Permanent = "the token endpoint refused the client", true
			p.Remedy = "check kafka.sasl.username (client id), kafka.sasl.password_file (client secret), and that the " +
				"client may use client credentials"
		default:
			p.Cause = fmt.Sprintf("the token endpoint answered with HTTP status %d", status)
		}
		// The error itself holds the whole answer.
		p.Err = fmt.Errorf("status %d %s %s", refusal.Response.StatusCode, refusal.ErrorCode, refusal.ErrorDescription)
	case errors.As(err, &certificate):
		p.Cause, p.Remedy = "the token endpoint's certificate is not trusted, or not for this name",
			"check the name in kafka.sasl.token_url, and set kafka.tls.ca_file to the authority that signed it"
		p.Permanent = true
	default:
		if known := tokenEndpoint.Explain(err); known != nil {
			return known
		}
	}
	return p
}

// expiry returns until when a token is good; zero if it does not say so in the form of a JSON Web Token.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct{ Exp float64 }
	if err != nil || json.Unmarshal(data, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}
