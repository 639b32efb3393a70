package broker

import (
	"errors"
	"io"
	"net"
	"strings"

	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Explain translates an error of kafka-go into a *diag.Problem. It returns an error without a translation unchanged.
func Explain(err error) error {
	var known *diag.Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	var code kafka.Error
	if errors.As(err, &code) {
		if m, known := permanent[code]; known {
			return diag.Lasting(m.cause, m.remedy, err)
		}
		if m, known := passing[code]; known {
			return m.of(err)
		}
		return err
	}
	if p := explainConnection(err); p != nil {
		return p
	}
	return err
}

// meaning is what an error means: its cause and its remedy, each half a sentence.
type meaning struct{ cause, remedy string }

func (m meaning) of(err error) *diag.Problem {
	return &diag.Problem{Cause: m.cause, Remedy: m.remedy, Err: err}
}

var (
	// sequenceLost is the answer to a batch whose sequence number the leader does not expect: see writer.
	sequenceLost = meaning{"the broker has lost the sequence numbers of this producer",
		"none is needed, the batch is sent again under a new epoch; if this repeats, look for unclean leader elections"}
	fewReplicas = meaning{"too few replicas are in sync", "bring brokers back or lower min.insync.replicas"}
	noLeader    = meaning{"the partition has no leader", "look for brokers that are down"}
	otherUsers  = meaning{"programs other than Echosieve use the group",
		"set kafka.group to a group that only Echosieve uses"}
)

// passing are the error codes of brokers that may go away while the process waits.
var passing = map[kafka.Error]meaning{
	kafka.UnknownTopicOrPartition: {"the topic does not exist, or this user has no right on it",
		"create it or set kafka.create_topics: true; else grant Read on the input topic and Write on the output topics"},
	kafka.MessageSizeTooLarge: {"the topic takes no batch of this size",
		"raise the topic's max.message.bytes or lower kafka.max_message_bytes"},
	kafka.RecordListTooLarge: {"the topic takes no batch of this size",
		"raise the topic's segment.bytes or lower kafka.max_message_bytes"},
	kafka.InvalidTimestamp: {"the output topic refuses the record's timestamp",
		"raise the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms"},
	kafka.InvalidRecord: {"the output topic refuses the record",
		"set the topic's cleanup.policy to delete, if it is compacted; else ask who runs the brokers for their checks"},
	kafka.OutOfOrderSequenceNumber:     sequenceLost,
	kafka.UnknownProducerId:            sequenceLost,
	kafka.NotEnoughReplicas:            fewReplicas,
	kafka.NotEnoughReplicasAfterAppend: fewReplicas,
	kafka.LeaderNotAvailable:           noLeader,
	kafka.OffsetMetadataTooLarge: {
		"the brokers take no commit with so long a label: positions in the output topics stand beside each offset",
		"set offset.metadata.max.bytes of the brokers to 4096, their default, or more, or use shorter topic names"},
	kafka.GroupCoordinatorNotAvailable: {"the group coordinator is not ready",
		"wait; if it lasts, check that __consumer_offsets could be created"},
	kafka.GroupMaxSizeReached: {"the group is full", "raise group.max.size or run fewer processes"},
}

// permanent are the others: somebody must change settings or rights.
var permanent = map[kafka.Error]meaning{
	kafka.SASLAuthenticationFailed: {"the broker refused the login", "check kafka.sasl.username and the password"},
	kafka.UnsupportedSASLMechanism: {"the broker does not offer this SASL mechanism",
		"set kafka.sasl.mechanism to one that the listener has enabled"},
	kafka.IllegalSASLState: {"the listener knows no login (SASL), but kafka.sasl.mechanism is set",
		"set kafka.sasl.mechanism to \"\" and remove the other settings under kafka.sasl, or use the port of a listener " +
			"with SASL"},
	kafka.TopicAuthorizationFailed: {"a right on the topic is missing, or the topic does not exist",
		"grant Read on the input topic and Write on the output topics, and check that they exist"},
	kafka.GroupAuthorizationFailed: {"this user may not use the consumer group",
		"grant Read on the group named in kafka.group, for a shadow followed by -shadow, for stories on all groups that " +
			"begin with it and -stories-"},
	kafka.TransactionalIDAuthorizationFailed: {"this user may not use the transactional id", "grant Write on it"},
	kafka.ClusterAuthorizationFailed: {"this user may not do that on the cluster",
		"grant the right, or create the topics beforehand and set kafka.create_topics: false"},
	kafka.InvalidReplicationFactor: {"there are fewer brokers than replicas wanted",
		"lower default.replication.factor of the brokers, or create the topics"},
	kafka.PolicyViolation: {"a policy of the cluster forbids the topic", "create the topics by hand"},
	kafka.InvalidTopic:    {"a topic name is invalid", "use letters, digits, '.', '_' and '-' only"},
	kafka.InvalidSessionTimeout: {"the broker does not allow this session timeout",
		"choose kafka.session_timeout between group.min.session.timeout.ms and group.max.session.timeout.ms"},
	kafka.InvalidGroupId:            {"the group name is invalid", "change kafka.group"},
	kafka.InconsistentGroupProtocol: otherUsers,
}

// errOtherProgram stands for kafka-go's error, whose text is broken.
var errOtherProgram = errors.New("a member of the group is no Echosieve")

// server names a Kafka broker in explanations of faults of network and TLS.
var server = diag.Server{
	Name: "the broker", Kind: "broker",
	TLS: "kafka.tls", Addresses: "kafka.brokers", AlsoCheck: " and the brokers' advertised.listeners",
	OtherName:  " or set kafka.tls.server_name",
	PlainHint:  "set kafka.tls.enabled: false or use the TLS port",
	TLSSetting: "the listener's ssl.enabled.protocols",
	ClosedHint: "if this lasts, kafka.tls.enabled or kafka.sasl.mechanism is not what its listener expects: " +
		"echosieve check finds out which",
	SlowHint: "check the network, firewalls and the load on the brokers",
}

// explainConnection translates errors that occurred before a broker answered, and errors of kafka-go itself
// whose metadata has no such topic, partition or leader.
func explainConnection(err error) *diag.Problem {
	switch {
	case errors.Is(err, protocol.ErrNoTopic), errors.Is(err, protocol.ErrNoPartition):
		return meaning{"the topic or partition does not exist, or this user has no right on it",
			"create it, or grant Read on the input topic and Write on the output topics"}.of(err)
	case errors.Is(err, protocol.ErrNoLeader):
		return noLeader.of(err)
	case strings.Contains(err.Error(), "unable to read metadata for member"): // the same; its text is broken
		return otherUsers.of(errOtherProgram)
	case strings.Contains(err.Error(), "expecting TLS"): // kafka-go has no type for it
		return meaning{"the listener speaks TLS",
			"set kafka.tls.enabled: true or use the port of a listener without TLS"}.of(err)
	default:
		return server.Explain(err)
	}
}

// routine says whether the answer belongs to every rebalance: it tells the member to join again, and nothing is wrong.
// Rebalances without end are counted (EchosieveRebalancing), and the member warns that it has no partitions.
func routine(err error) bool {
	return errors.Is(err, kafka.RebalanceInProgress) || errors.Is(err, kafka.IllegalGeneration)
}

// Permanent says whether trying again is pointless until somebody changes settings or rights.
func Permanent(err error) bool {
	var p *diag.Problem
	return errors.As(Explain(err), &p) && p.Permanent
}

// Final marks an error for stopping.Until if it is Permanent.
func Final(err error) error {
	if Permanent(err) {
		return stopping.Final(err)
	}
	return err
}

const (
	// kindTooLarge is the kind of an error that a smaller batch may avoid.
	kindTooLarge = "too_large"
	// kindRefused is the kind of an error that the same records always get.
	kindRefused = "refused"
)

// KindOf returns the label of an error in the metrics.
func KindOf(err error) string {
	var code kafka.Error
	if !errors.As(err, &code) {
		switch {
		case errors.Is(err, protocol.ErrNoLeader):
			return "not_leader"
		case diag.IsTimeout(err):
			return "timeout"
		case Permanent(err):
			return "auth"
		case IsConnection(err):
			return "connection"
		default:
			return "other"
		}
	}
	switch code {
	case kafka.RequestTimedOut:
		return "timeout"
	case kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState,
		kafka.TopicAuthorizationFailed,
		kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed:
		return "auth"
	case kafka.NotLeaderForPartition, kafka.LeaderNotAvailable, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch,
		kafka.ReplicaNotAvailable:
		return "not_leader"
	case kafka.GroupLoadInProgress, kafka.GroupCoordinatorNotAvailable, kafka.NotCoordinatorForGroup,
		kafka.RebalanceInProgress, kafka.IllegalGeneration, kafka.UnknownMemberId:
		return "coordinator"
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge:
		return kindTooLarge
	case kafka.InvalidTimestamp, kafka.InvalidRecord:
		return kindRefused
	case kafka.BrokerNotAvailable, kafka.NetworkException:
		return "connection"
	default:
		return "other"
	}
}

// IsConnection says whether the connection failed, rather than a broker that answered.
func IsConnection(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}
