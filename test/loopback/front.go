package loopback

// Front puts something before the addresses of one server, such as proxies, and returns the addresses at which others
// reach it then: clients, and the servers that replicate or watch it. What the server announces is these. A nil Front
// puts nothing there.
type Front func(own ...string) []string

// Before returns the addresses at which others reach the ports of a server.
func (f Front) Before(ports ...int) []string {
	addrs := make([]string, len(ports))
	for i, port := range ports {
		addrs[i] = Addr(port)
	}
	if f == nil {
		return addrs
	}
	return f(addrs...)
}
