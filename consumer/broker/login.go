package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"echosieve/internal/diag"
	"echosieve/internal/remote"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	franz "github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
)

// SASL says how to log in.
type SASL struct {
	Mechanism string `setting:"mechanism" help:"plain, scram-sha-256, scram-sha-512 or oauthbearer; empty: no login."`
	Username  string `setting:"username" help:"User name; with token_url the client id."`
	Password  string `setting:"password" secret:"true"`
	TokenFile string `setting:"token_file"`

	TokenURL   string `setting:"token_url"`
	Scopes     string `setting:"scopes" help:"Scopes of the token that token_url is asked for, separated by spaces."`
	Extensions string `setting:"extensions" help:"SASL extensions of oauthbearer, as name=value,name=value."`
}

// load returns the mechanism; nil: no login. caFile is kafka.tls.ca_file.
func (s SASL) load(caFile string) (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil
	case mechanismOAuth:
		return s.loadOAuth(caFile)
	case "plain":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	}
	user := scram.Auth{User: s.Username, Pass: s.Password}
	if s.Mechanism == "scram-sha-256" {
		return scramLogin{user.AsSha256Mechanism()}, nil
	}
	return scramLogin{user.AsSha512Mechanism()}, nil
}

// scramLogin is SASL SCRAM (RFC 5802). Like Kafka's own clients and brokers, it hashes user name and password as they
// are written. kafka-go's first replaces characters such as a circled digit, so that Kafka refuses the password.
type scramLogin struct{ franz.Mechanism }

// Start implements sasl.Mechanism.
func (s scramLogin) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	session, first, err := s.Authenticate(ctx, "")
	return scramSession{session}, first, err
}

type scramSession struct{ franz.Session }

// Next implements sasl.StateMachine.
func (s scramSession) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	return s.Challenge(challenge)
}

// mechanismOAuth is the value of kafka.sasl.mechanism for oauth.
const mechanismOAuth = "oauthbearer"

// oauth is SASL OAUTHBEARER (RFC 7628). The next token may be good, so a token that is refused is no reason to end.
type oauth struct {
	tokens     oauth2.TokenSource
	asking     *singleflight.Group // logins at a time share a token, or the reason why there is none
	extensions string              // as they follow the token
}

var _ sasl.Mechanism = oauth{}

func (s SASL) loadOAuth(caFile string) (sasl.Mechanism, error) {
	o := oauth{tokens: tokenFile(s.TokenFile), asking: &singleflight.Group{}}
	if s.Extensions != "" {
		o.extensions = strings.ReplaceAll(s.Extensions, ",", "\x01") + "\x01"
	}
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
	client := &http.Client{
		Transport: transport, Timeout: tokenTimeout,
		// A redirect would take the secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	// One token serves all logins, until it ends.
	o.tokens = oauth2.ReuseTokenSourceWithExpiry(nil, &issuer{
		ctx: context.WithValue(context.Background(), oauth2.HTTPClient, client),
		config: clientcredentials.Config{
			ClientID: s.Username, ClientSecret: s.Password, TokenURL: s.TokenURL, Scopes: strings.Fields(s.Scopes),
			AuthStyle: oauth2.AuthStyleInHeader, // as Kafka's own clients do it
		},
	}, time.Second)
	return o, nil
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

// Start implements sasl.Mechanism. While the token endpoint hangs, each login holds a connection to a broker: a login
// that waited for its turn to ask would hold one for as long as all before it.
func (o oauth) Start(context.Context) (sasl.StateMachine, []byte, error) {
	t, err, _ := o.asking.Do("", func() (any, error) { return o.tokens.Token() })
	if err != nil {
		return nil, nil, err
	}
	return o, []byte("n,,\x01auth=Bearer " + t.(*oauth2.Token).AccessToken + "\x01" + o.extensions + "\x01"), nil
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

// checkToken returns an error if a text cannot be sent as a token.
func checkToken(text string) error {
	if text == "" || strings.ContainsAny(text, "\x01 \n") {
		return errors.New("it does not hold one token")
	}
	return nil
}

// tokenFile names a file that another program keeps fresh.
type tokenFile string

// Token returns the token that the file holds now.
func (f tokenFile) Token() (*oauth2.Token, error) {
	data, err := os.ReadFile(string(f))
	token := string(bytes.TrimSpace(data))
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		return nil, &diag.Problem{
			Cause:  "there is no token to log in with",
			Remedy: "have a program write it to the file of kafka.sasl.token_file", Err: err,
		}
	}
	return &oauth2.Token{AccessToken: token}, nil
}

// tokenTimeout bounds a request to the token endpoint. A login, of which it is a part, has dialTimeout.
const tokenTimeout = 5 * time.Second

// issuer gets tokens from a token endpoint, by client credentials (RFC 6749, section 4.4).
type issuer struct {
	ctx    context.Context // carries the HTTP client
	config clientcredentials.Config
}

// Token returns a new token. It expires for us when four fifths of its life are over: brokers close a connection when
// the token ends with which it has logged in. A token whose end the endpoint does not tell serves one login.
func (i *issuer) Token() (*oauth2.Token, error) {
	t, err := i.config.Token(i.ctx)
	if err == nil {
		err = checkToken(t.AccessToken)
	}
	if err != nil {
		return nil, explainToken(err)
	}
	now := time.Now()
	return &oauth2.Token{AccessToken: t.AccessToken, Expiry: now.Add(max(t.Expiry.Sub(now), 0) * 4 / 5)}, nil
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
