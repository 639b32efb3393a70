package diag

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"time"
)

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
