package redisserver

import "net"

// Front puts something before the addresses of one server, such as proxies, and returns the addresses at which
// others reach it then: clients, its replica, sentinels, the other nodes of a cluster. What the server announces is
// these; only this package's own clients go past the front. A nil Front puts nothing there.
type Front func(own ...string) []string

// before returns the addresses at which others reach the ports of a server.
func (f Front) before(ports ...int) []string {
	addrs := make([]string, len(ports))
	for i, port := range ports {
		addrs[i] = address(port)
	}
	if f == nil {
		return addrs
	}
	return f(addrs...)
}

// portOf is the port of an address that this package or a Front made.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
