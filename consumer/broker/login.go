package broker

import (
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
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
