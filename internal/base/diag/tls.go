package diag

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// tlsFault is a way in which setting up TLS fails.
type tlsFault uint8

const (
	noFault   tlsFault = iota // the error has nothing to do with TLS
	untrusted                 // the server's certificate is signed by no authority that we trust
	expired                   // the certificate, or one that signed it, is not valid now
	otherName                 // the certificate is for another name than the one dialled
	notTLS                    // the server does not speak TLS on this port
	tooOld                    // the server speaks only versions of TLS below 1.2
	refused                   // the server ended the handshake: it wants a client certificate, or another one
)

// alertProtocolVersion is the text of the alert by which a server says that it speaks none of our versions (RFC 8446,
// section 6). crypto/tls keeps the type of a received alert private, so its text is compared with the text of tls.AlertError.
var alertProtocolVersion = tls.AlertError(70).Error()

// tlsFaultOf returns the fault that an error stands for.
func tlsFaultOf(err error) tlsFault {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &host):
		return otherName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return expired
	case errors.As(err, &verify):
		return untrusted
	case errors.As(err, &plain):
		return notTLS
	case errors.As(err, &op) && op.Op == "remote error": // crypto/tls marks an alert that it received like this
		if op.Err.Error() == alertProtocolVersion {
			return tooOld
		}
		return refused
	default:
		return noFault
	}
}
