package broker

import (
	"bytes"
	"encoding/binary"
	"net"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
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
	const header = 12 // size, key, version, correlation
	if len(p) < header || kmsg.Key(binary.BigEndian.Uint16(p[4:])) != kmsg.JoinGroup {
		return 0
	}
	if version := binary.BigEndian.Uint16(p[6:]); version != 1 && version != 2 {
		return 0
	}
	r := kbin.Reader{Src: p[header:]}
	_, _ = r.NullableString(), r.String() // client id, group
	_ = r.Int64()                         // session and rebalance timeouts
	_, _ = r.String(), r.String()         // member id, type
	_ = r.Int32()                         // number of protocols
	_ = r.String()                        // name
	_ = r.Int32()                         // length
	if !r.Ok() || len(r.Src) < 2 {
		return 0
	}
	return len(p) - len(r.Src)
}
