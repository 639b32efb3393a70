package broker

import (
	"bytes"
	"encoding/binary"
	"net"
)

// groupConn is a connection of kafka-go's consumer group. kafka-go v0.4.51 calls its subscription version 1, and leaves
// out the list of owned partitions that this version has: a Java client that leads the group ends with a SchemaException.
// What kafka-go sends is version 0, and so it is named here.
type groupConn struct{ net.Conn }

// Write implements net.Conn. kafka-go writes the beginning of each request at once.
func (c groupConn) Write(p []byte) (int, error) {
	if at := subscription(p); at > 0 {
		p = bytes.Clone(p)
		binary.BigEndian.PutUint16(p[at:], 0)
	}
	return c.Conn.Write(p)
}

// subscription returns where the version of the first subscription stands in a JoinGroup request of version 1 or 2; 0:
// p is another request.
func subscription(p []byte) int {
	const joinGroup, header = 11, 12 // size, key, version, correlation
	if len(p) < header || binary.BigEndian.Uint16(p[4:]) != joinGroup {
		return 0
	}
	version, at := binary.BigEndian.Uint16(p[6:]), header
	if version != 1 && version != 2 {
		return 0
	}
	text := func() { // skips a string
		if at+2 <= len(p) {
			at += 2 + int(max(0, int16(binary.BigEndian.Uint16(p[at:]))))
		}
	}
	text()  // client id
	text()  // group
	at += 8 // session and rebalance timeouts
	text()  // member id
	text()  // type
	at += 4 // number of protocols
	text()  // name
	at += 4 // length
	if at+2 > len(p) {
		return 0
	}
	return at
}
