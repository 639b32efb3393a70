package kafkaserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"echosieve/test/host"
)

// Cluster is several brokers that replicate. Each broker is a controller as well, so that a majority of them must run.
type Cluster struct{ Servers []*Server }

// StartClusterBehind starts n brokers. A topic that is created with -1 replicas has a replica on each broker. It
// accepts records while at most one broker is away (min.insync.replicas = n-1). The front gets 1+2n addresses of each
// server: first that of the listener for clients, then one for each broker that replicates from the server, then one
// for each broker that speaks to its controller; the server itself is among the brokers. Since each caller has an
// address of its own, a server can be cut off in both directions. Clients that use Addr go past the front.
func StartClusterBehind(t testing.TB, f host.Front, version string, n int) *Cluster {
	t.Helper()
	host.SkipShort(t)
	c, kafka := &Cluster{}, install(t, version)
	brokers, controllers := names("BROKER", n), names("CONTROLLER", n)
	fronted := slices.Concat([]string{"CLIENTS"}, brokers, controllers)
	ports := host.Ports(t, n*(1+len(fronted)))
	var all []options
	voters := make([]string, n) // by the server that uses the list
	for i := range n {
		s := &Server{t: t, kafka: kafka, Dir: t.TempDir(), heap: "256", java: []string{kafka.useClasses()}}
		own := ports[i*(1+len(fronted)):][:1+len(fronted)]
		reached := f.Before(own[1:]...)
		s.Addr, s.Reached = host.Addr(own[0]), reached[0]
		o := options{properties: properties(s.Dir)}
		o.listen("PLAINTEXT", "PLAINTEXT", s.Addr, s.Addr)
		for j, name := range fronted {
			o.listen(name, "PLAINTEXT", host.Addr(own[1+j]), reached[j])
		}
		for j := range n {
			voters[j] += fmt.Sprintf(",%d@%s", i+1, reached[1+n+j])
		}
		c.Servers, all = append(c.Servers, s), append(all, o)
	}
	for i, s := range c.Servers {
		replicate(all[i].properties, n)
		Killable()(&all[i])
		maps.Copy(all[i].properties, map[string]string{
			"node.id":                    fmt.Sprint(i + 1),
			"broker.rack":                Rack(i),
			"replica.selector.class":     "org.apache.kafka.common.replica.RackAwareReplicaSelector",
			"inter.broker.listener.name": brokers[i],
			// A server opens connections to the other controllers under the first name of this list.
			"controller.listener.names": strings.Join(slices.Concat(controllers[i:], controllers[:i]), ","),
			"controller.quorum.voters":  voters[i][1:],
		})
		s.format(all[i])
		t.Cleanup(s.Kill)
	}
	// No broker is ready before a majority of them runs.
	for _, s := range c.Servers {
		s.launch()
	}
	for _, s := range c.Servers {
		s.await()
	}
	return c
}

// Rack is the rack of the server with that index. Clients that name it may fetch from that server.
func Rack(i int) string { return fmt.Sprint("rack-", i) }

// names returns the names of n listeners.
func names(of string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(of, i+1))
	}
	return all
}

// replicate gives every topic n replicas.
func replicate(properties map[string]string, n int) {
	all, most := fmt.Sprint(n), fmt.Sprint(max(n-1, 1))
	maps.Copy(properties, map[string]string{
		"default.replication.factor":     all,
		"min.insync.replicas":            most,
		"replica.lag.time.max.ms":        "5000",
		"unclean.leader.election.enable": "false",
	})
	for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		properties[topic+".replication.factor"] = all
	}
	for _, topic := range []string{"transaction.state.log", "share.coordinator.state.topic"} {
		properties[topic+".min.isr"] = most
	}
}
