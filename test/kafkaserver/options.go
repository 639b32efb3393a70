package kafkaserver

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Option changes the server's properties.
type Option func(*options)

type options struct {
	properties map[string]string
	format     []string // arguments of the storage tool
	secure     bool
}

// With sets a broker property.
func With(key, value string) Option { return func(o *options) { o.properties[key] = value } }

// session is how long the controllers wait for a broker of which they hear nothing, also when it has started again.
const session = "broker.session.timeout.ms"

// Killable is for a broker that a test kills: others take its place soon, and it may come back as soon.
func Killable() Option { return With(session, "4000") }

// Secure adds a SASL_SSL listener with SCRAM-SHA-256, SCRAM-SHA-512, PLAIN and OAUTHBEARER (unsecured
// tokens), a SASL_PLAINTEXT listener with the same logins, an SSL listener, and an authorizer that denies
// everything that no ACL allows. keyStore holds the PEM key and certificate of the broker, caFile the
// certificate of the authority. users maps names to passwords. The plaintext listener stays open. Clients
// without a login are super users.
func Secure(keyStore, caFile string, users map[string]string) Option {
	return func(o *options) {
		o.secure = true
		plain := ""
		for _, name := range slices.Sorted(maps.Keys(users)) {
			for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
				o.format = append(o.format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, name,
					users[name]))
			}
			plain += fmt.Sprintf(" user_%s=\"%s\"", name, users[name])
		}
		maps.Copy(o.properties, map[string]string{
			"ssl.keystore.type":       "PEM",
			"ssl.keystore.location":   keyStore,
			"ssl.truststore.type":     "PEM",
			"ssl.truststore.location": caFile,
			"sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER",
			"authorizer.class.name":   "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":             "User:admin;User:ANONYMOUS",
		})
		const (
			oauth = "org.apache.kafka.common.security.oauthbearer."
			scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		)
		for _, listener := range []string{"secure", "login"} {
			of := "listener.name." + listener + "."
			maps.Copy(o.properties, map[string]string{
				of + "oauthbearer.sasl.jaas.config": oauth +
					`OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin";`,
				of + "oauthbearer.sasl.server.callback.handler.class": oauth +
					"internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
				of + "scram-sha-256.sasl.jaas.config": scram,
				of + "scram-sha-512.sasl.jaas.config": scram,
				of + "plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required" +
					plain + ";",
			})
		}
	}
}

// listen adds a listener that clients reach at the advertised address. The listener of a controller has none.
func (o *options) listen(name, protocol, own, advertised string) {
	add := func(key, value string) {
		if o.properties[key] != "" {
			value = o.properties[key] + "," + value
		}
		o.properties[key] = value
	}
	add("listeners", name+"://"+own)
	add("listener.security.protocol.map", name+":"+protocol)
	if advertised != "" {
		add("advertised.listeners", name+"://"+advertised)
	}
}

// properties are those of every broker.
func properties(dir string) map[string]string {
	return map[string]string{
		"process.roles":                  "broker,controller",
		"log.dirs":                       filepath.Join(dir, "data"),
		"auto.create.topics.enable":      "false",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
		"log.cleaner.dedupe.buffer.size": "16777216",
		"log.cleaner.backoff.ms":         "500",
		// Kafka deletes old records by their timestamps, for the first time 30 s after the start. Tests
		// publish old articles.
		"log.retention.ms":                                 "-1",
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"share.coordinator.state.topic.num.partitions":     "4",
		"group.initial.rebalance.delay.ms":                 "0",
		"group.min.session.timeout.ms":                     "1000",
		// Nobody can create topics while the controllers have dropped all brokers, as they do on a machine that is too busy.
		session:                        "60000",
		"broker.heartbeat.interval.ms": "500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
}
