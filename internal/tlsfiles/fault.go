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
	Untrusted       // the server's certificate is signed by nobody we trust
	Expired         // it, or one that signed it, is not valid now
	OtherName       // it is for another name than the one dialled
	NotTLS          // the server does not speak TLS on this port
	TooOld          // it speaks no version of TLS that we do
	Refused         // the server broke the handshake off: it wants a client certificate, or another one
)

// alertProtocolVersion is how a server says that it has none of our versions (RFC 8446, section 6). The type of an alert
// that was received is private; its text is not.
var alertProtocolVersion = tls.AlertError(70).Error()

// FaultOf finds out what went wrong.
func FaultOf(err error) Fault {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &host):
		return OtherName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, &verify):
		return Untrusted
	case errors.As(err, &plain):
		return NotTLS
	case errors.As(err, &op) && op.Op == "remote error": // how crypto/tls marks an alert that it received
		if op.Err.Error() == alertProtocolVersion {
			return TooOld
		}
		return Refused
	default:
		return NoFault
	}
}
