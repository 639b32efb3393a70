package kafkaserver

// Listener adds a plaintext listener that listens on one address and is known to clients by another, such as that of
// a proxy in front of it. Clients that start from the advertised address stay behind it.
func Listener(name, listen, advertised string) Option {
	return func(o *options) {
		o.properties["listeners"] += "," + name + "://" + listen
		o.properties["advertised.listeners"] += "," + name + "://" + advertised
		o.properties["listener.security.protocol.map"] += "," + name + ":PLAINTEXT"
		o.properties["inter.broker.listener.name"] = "PLAINTEXT"
	}
}
