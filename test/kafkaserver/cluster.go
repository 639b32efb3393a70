package kafkaserver

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Cluster is several brokers that replicate. Each is a controller as well: a majority must run.
type Cluster struct{ Servers []*Server }

// StartCluster starts n brokers. Every topic has a replica on each, and takes writes while at most one is missing
// (min.insync.replicas = n-1). Topics that are created with -1 replicas get n.
func StartCluster(t testing.TB, version string, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	ports := freePorts(t, 2*n)
	var voters []string
	for i := range n {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports[2*i+1]))
	}
	for i := range n {
		s := &Server{t: t, classPath: jars(t, version), Dir: t.TempDir(), heap: "256"}
		s.Addr = fmt.Sprintf("127.0.0.1:%d", ports[2*i])
		o := options{properties: properties(s.Dir, ports[2*i:2*i+2])}
		all, most := fmt.Sprint(n), fmt.Sprint(max(n-1, 1))
		maps.Copy(o.properties, map[string]string{
			"node.id":                        fmt.Sprint(i + 1),
			"controller.quorum.voters":       strings.Join(voters, ","),
			"default.replication.factor":     all,
			"min.insync.replicas":            most,
			"replica.lag.time.max.ms":        "5000",
			"unclean.leader.election.enable": "false",
		})
		for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
			o.properties[topic+".replication.factor"] = all
		}
		for _, topic := range []string{"transaction.state.log", "share.coordinator.state.topic"} {
			o.properties[topic+".min.isr"] = most
		}
		s.format(o)
		t.Cleanup(s.Stop)
		c.Servers = append(c.Servers, s)
	}
	// None is up before a majority is.
	for _, s := range c.Servers {
		s.launch()
	}
	for _, s := range c.Servers {
		s.await()
	}
	return c
}

// Addrs are the brokers' addresses.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}
