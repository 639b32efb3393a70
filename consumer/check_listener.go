package consumer

import (
	"context"
	"crypto/tls"
	"net"

	"echosieve/internal/diag"
)

// explainClosed finds out why the brokers close connections. A listener that expects a login, or no TLS, closes the
// connection and says nothing, so that the error alone cannot tell the two apart. A listener that expects a login answers a
// client that has not logged in one question: which versions of the protocol it knows.
func (c *cluster) explainClosed(ctx context.Context, err error) error {
	if !diag.IsClosed(err) {
		return err
	}
	for _, addr := range c.cfg.Brokers {
		switch {
		case asks(ctx, addr, c.transport.TLS, c.cfg.ClientID) == nil:
			if c.cfg.SASL.Mechanism != "" {
				return err
			}
			return &diag.Problem{
				Cause: "the listener wants a login (SASL)", Remedy: "set kafka.sasl.mechanism, kafka.sasl.username and a password",
				Err: err, Permanent: true,
			}
		case c.transport.TLS != nil && asks(ctx, addr, nil, c.cfg.ClientID) == nil:
			return broker.NotTLS(err)
		}
	}
	return err
}

// asks asks a broker which versions of the protocol it knows, on a connection of its own. Nil means that it answered.
func asks(ctx context.Context, addr string, config *tls.Config, clientID string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var d dialer = new(net.Dialer)
	if config != nil {
		d = &tls.Dialer{Config: config}
	}
	return answers(ctx, d, "tcp", addr, clientID)
}
