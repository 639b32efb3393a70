package broker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"echosieve/internal/diag"
)

// mechanismOAuth is the value of kafka.sasl.mechanism for tokenFile.
const mechanismOAuth = "oauthbearer"

// SASL says how to log in.
type SASL struct {
	Mechanism string `setting:"mechanism" help:"plain, scram-sha-256, scram-sha-512 or oauthbearer; empty: no login."`
	Username  string `setting:"username" help:"User name."`
	Password  string `setting:"password" secret:"true" help:"password; prefer password_file or the environment."`
	TokenFile string `setting:"token_file" help:"File with the token of oauthbearer, which another program keeps fresh. It is read at each login."`
}

func (s SASL) load() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil
	case mechanismOAuth:
		return tokenFile(s.TokenFile), nil
	case "plain":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case "scram-sha-256":
		return wrapSASL(scram.Mechanism(scram.SHA256, s.Username, s.Password))
	default:
		return wrapSASL(scram.Mechanism(scram.SHA512, s.Username, s.Password))
	}
}

func wrapSASL(m sasl.Mechanism, err error) (sasl.Mechanism, error) {
	if err != nil {
		return nil, fmt.Errorf("kafka.sasl: %w", err)
	}
	return m, nil
}

// tokenFile is SASL OAUTHBEARER (RFC 7628) with the token that a file holds at each login. Another program
// keeps the file fresh, so a token that is refused is no reason to end: the next one may be good.
type tokenFile string

var _ sasl.Mechanism = tokenFile("")

// Name implements sasl.Mechanism.
func (tokenFile) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism.
func (f tokenFile) Start(context.Context) (sasl.StateMachine, []byte, error) {
	data, err := os.ReadFile(string(f))
	token := string(bytes.TrimSpace(data))
	if err == nil && (token == "" || strings.ContainsAny(token, "\x01 \n")) {
		err = errors.New("the file does not hold one token")
	}
	if err != nil {
		return nil, nil, &diag.Problem{
			Cause:  "there is no token to log in with",
			Remedy: "have a program write it to the file of kafka.sasl.token_file", Err: err,
		}
	}
	if end := expiry(token); !end.IsZero() && time.Now().After(end) {
		return nil, nil, &diag.Problem{
			Cause:  "the token in the file of kafka.sasl.token_file has expired",
			Remedy: "look for the program that should renew it, and compare the clocks",
			Err:    fmt.Errorf("it was good until %s", end.UTC().Format(time.RFC3339)),
		}
	}
	return f, []byte("n,,\x01auth=Bearer " + token + "\x01\x01"), nil
}

// Next implements sasl.StateMachine. A broker that refuses the token sends why, as JSON.
func (tokenFile) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	if len(challenge) == 0 {
		return true, nil, nil
	}
	var refusal struct{ Status, Scope string }
	if err := json.Unmarshal(challenge, &refusal); err != nil || refusal.Status == "" {
		refusal.Status = "no reason given"
	}
	return false, nil, &diag.Problem{
		Cause: "the broker refused the token: " + refusal.Status,
		Remedy: "check issuer, audience, scope and expiry of the token in the file of kafka.sasl.token_file " +
			"against the broker's sasl.oauthbearer settings",
		Err: kafka.SASLAuthenticationFailed,
	}
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
