// Package diag describes faults of the servers of echosieve: a Problem is one error with its cause and a
// remedy, a Finding is one line of `echosieve check`. Faults of network and TLS are the same for Kafka and
// Redis, so Server.Explain explains them once for both. Errors that a broker or Redis sends, a refused login
// for example, are explained by the packages consumer and redisindex, which know the protocols.
package diag

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Severity says what a Finding means for the service. Its text is printed by `echosieve check`.
type Severity string

// The severities. Only a Failure keeps the service from starting or from working.
const (
	OK      Severity = "ok"
	Info    Severity = "info"    // worth knowing, or could not be found out
	Warning Severity = "warning" // the service works, at a price that the finding names
	Failure Severity = "failure" // the service cannot start, or will stop working
)

// Finding is one result of a check.
type Finding struct {
	Component string   `json:"component"` // "recipe", "kafka", "registry", "redis" or "http"; the command sets it
	Severity  Severity `json:"severity"`
	Subject   string   `json:"subject"`           // what was checked: "topic articles", "127.0.0.1:6379 appendonly"
	Problem   string   `json:"problem,omitempty"` // the fault; for OK, the state that the check found
	Remedy    string   `json:"remedy,omitempty"`  // what to do
}

// New returns a finding. For OK the problem is the state that the check found, and the remedy is empty.
func New(severity Severity, subject, problem, remedy string) Finding {
	return Finding{Severity: severity, Subject: subject, Problem: problem, Remedy: remedy}
}

// Problem is an error of a server with its likely cause and what to do about it.
type Problem struct {
	Cause  string // half a sentence: the fault
	Remedy string // half a sentence: what to do
	Err    error  // as the client library reported it
	// Permanent says that trying again is pointless until somebody changes settings or rights.
	Permanent bool
}

// Lasting returns a permanent problem.
func Lasting(cause, remedy string, err error) *Problem {
	return &Problem{Cause: cause, Remedy: remedy, Err: err, Permanent: true}
}

// Error returns cause, remedy and the original error in one line.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: %s (%s)", p.Cause, p.Remedy, oneLine(p.Err))
}

// Unwrap returns the original error.
func (p *Problem) Unwrap() error { return p.Err }

// Finding returns the problem as a finding about subject.
func (p *Problem) Finding(severity Severity, subject string) Finding {
	return New(severity, subject, fmt.Sprintf("%s (%s)", p.Cause, oneLine(p.Err)), p.Remedy)
}

// Waits is why work waits although its server answers: for other processes, say. No connection is down.
type Waits string

// Error says what is awaited.
func (w Waits) Error() string { return string(w) }

// oneLine puts the errors of several servers, which go-redis joins line by line, into one line, each once.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines[1:]) // the first line introduces the others
	return strings.Join(slices.Compact(lines), "; ")
}

// Server names a kind of server, and the settings by which it is reached, in the sentences of Explain.
type Server struct {
	Name       string // begins a sentence: "the broker"
	Kind       string // as in "no broker answers"
	TLS        string // prefix of the settings that name certificates: "kafka.tls"
	Addresses  string // the setting that names the servers: "kafka.brokers"
	AlsoCheck  string // continues the setting: " and the port"
	OtherName  string // continues the setting, if a certificate is for another name: " or set kafka.tls.server_name"
	PlainHint  string // remedy if the server does not speak TLS
	TLSSetting string // the setting of the server that allows versions of TLS
	ClosedHint string // remedy if the server keeps closing connections
	SlowHint   string // remedy if the server does not answer in time
}

// Explain translates an error that occurred before the server answered anything: the name is unknown, nobody
// listens, the TLS handshake failed, the connection was closed, or no answer came in time. It returns nil for
// other errors.
func (s Server) Explain(err error) *Problem {
	p := s.explainTLS(err)
	var dns *net.DNSError
	switch {
	case p != nil:
	case errors.As(err, &dns):
		p = &Problem{Cause: s.Name + "'s host name is unknown", Remedy: "check " + s.Addresses + s.AlsoCheck}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH):
		p = &Problem{Cause: fmt.Sprintf("no %s answers at this address", s.Kind), Remedy: "check that it runs, " +
			s.Addresses + s.AlsoCheck}
	case IsClosed(err):
		p = &Problem{Cause: s.Name + " closed the connection", Remedy: s.ClosedHint}
	case IsTimeout(err):
		p = &Problem{Cause: s.Name + " did not answer in time", Remedy: s.SlowHint}
	default:
		return nil
	}
	p.Err = err
	return p
}

// explainTLS returns nil for errors that have nothing to do with TLS.
func (s Server) explainTLS(err error) *Problem {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var op *net.OpError
	p := &Problem{Permanent: true, Err: err}
	switch {
	case errors.As(err, &host):
		p.Cause = s.Name + "'s certificate is for another name"
		p.Remedy = "use that name in " + s.Addresses + s.OtherName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		p.Cause = s.Name + "'s certificate has expired or is not valid yet"
		p.Remedy = "renew it, or correct the clock of this machine"
	case errors.As(err, &verify):
		p.Cause = s.Name + "'s certificate is not trusted"
		p.Remedy = "set " + s.TLS + ".ca_file to the authority that signed it"
	case errors.As(err, &plain):
		return s.NotTLS(err)
	case !errors.As(err, &op) || op.Op != "remote error": // crypto/tls marks an alert that it received like this
		return nil
	case op.Err.Error() == alertProtocolVersion:
		p.Cause, p.Remedy = s.Name+" speaks no TLS 1.2 or later", "allow TLSv1.2 in "+s.TLSSetting
	default:
		p.Cause = s.Name + " refused the TLS handshake"
		p.Remedy = fmt.Sprintf("set %[1]s.cert_file and %[1]s.key_file to a certificate that it trusts", s.TLS)
	}
	return p
}

// alertProtocolVersion is the text of the alert by which a server says that it speaks none of our versions
// (RFC 8446, section 6). crypto/tls keeps the type of a received alert private, so its text is compared with
// the text of tls.AlertError.
var alertProtocolVersion = tls.AlertError(70).Error()

// NotTLS is the problem of a server that does not speak TLS although the settings enable TLS.
func (s Server) NotTLS(err error) *Problem {
	return Lasting("this port of "+s.Name+" does not speak TLS", s.PlainHint, err)
}

// IsClosed says whether the server closed the connection without an answer.
func IsClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// IsTimeout says whether an answer, or a connection, did not come in time.
func IsTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// The protocols that Speaks recognises.
const (
	SpeaksKafka      = "Kafka"
	SpeaksController = "Kafka, as a controller"
	SpeaksRedis      = "Redis"
	SpeaksTLS        = "TLS"
	SpeaksHTTP       = "HTTP"
)

// speaksTimeout is how long Speaks waits for an answer.
const speaksTimeout = 2 * time.Second

// metadataKey is the API by which Kafka's clients find brokers. Controllers do not offer it.
const metadataKey = 3

// Speaks finds out which protocol a server speaks without TLS: "" if the server says nothing that Speaks
// knows. It sends Redis' PING, which HTTP and TLS servers answer with an error, and to a server that does not
// answer that, Kafka's request for versions.
func Speaks(ctx context.Context, address string) string {
	versions := binary.BigEndian.AppendUint16([]byte{0, 0, 0, 10}, 18) // length; ApiVersions
	// version 0; number 1; a client id without letters
	versions = append(versions, 0, 0, 0, 0, 0, 1, 0, 0)
	for _, request := range [][]byte{[]byte("PING\r\n"), versions} {
		if answer := ask(ctx, address, request); len(answer) > 0 {
			return protocolOf(answer)
		}
	}
	return ""
}

// ask sends a request and returns what the server sends first.
func ask(ctx context.Context, address string, request []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, speaksTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if conn.SetDeadline(deadline) != nil {
		return nil
	}
	if _, err := conn.Write(request); err != nil {
		return nil
	}
	answer := make([]byte, 4096)
	n, _ := conn.Read(answer) // without an answer n is 0
	return answer[:n]
}

// protocolOf recognises the answer to the request of Speaks.
func protocolOf(answer []byte) string {
	switch {
	case answer[0] == '-' || answer[0] == '+':
		return SpeaksRedis
	case answer[0] == 0x15: // an alert
		return SpeaksTLS
	case bytes.HasPrefix(answer, []byte("HTTP/")):
		return SpeaksHTTP
	case len(answer) < 14 || binary.BigEndian.Uint32(answer[4:]) != 1: // the number of the request
		return ""
	}
	for apis := answer[14:]; len(apis) >= 6; apis = apis[6:] { // key, least and greatest version
		if binary.BigEndian.Uint16(apis) == metadataKey {
			return SpeaksKafka
		}
	}
	return SpeaksController
}
