package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Fault is a way in which setting up TLS fails.
type Fault uint8

// The faults. NoFault is an error that has nothing to do with TLS.
const (
	NoFault   Fault = iota
	Untrusted       // the server's certificate is signed by nobody we trust, or expired
	OtherName       // it is for another name than the one dialled
	NotTLS          // the server does not speak TLS on this port
	Refused         // the server broke the handshake off: it wants a client certificate, or another one
)

// FaultOf finds out what went wrong.
func FaultOf(err error) Fault {
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &host):
		return OtherName
	case errors.As(err, &verify):
		return Untrusted
	case errors.As(err, &plain):
		return NotTLS
	case errors.As(err, &op) && op.Op == "remote error": // how crypto/tls marks an alert that it received
		return Refused
	default:
		return NoFault
	}
}
