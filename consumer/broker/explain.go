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
		if p, ok := problems[code]; ok {
			p.Err = err
			return &p
		}
		return err
	}
	if p := explainConnection(err); p != nil {
		return p
	}
	return err
}

var (
	// sequenceLost translates the answer to a batch whose sequence number the leader does not expect: see writer.
	sequenceLost = diag.Problem{
		Cause: "the broker has lost the sequence numbers of this producer",
		Remedy: "none is needed, the batch is sent again under a new epoch; if this repeats, look for unclean leader " +
			"elections",
	}
	fewReplicas = diag.Problem{
		Cause: "too few replicas are in sync", Remedy: "bring brokers back or lower min.insync.replicas",
	}
	noLeader = diag.Problem{Cause: "the partition has no leader", Remedy: "look for brokers that are down"}
)

// problems translates the error codes of brokers.
var problems = map[kafka.Error]diag.Problem{
	kafka.SASLAuthenticationFailed: {
		Cause:  "the broker refused the login",
		Remedy: "check kafka.sasl.username and the password", Permanent: true,
	},
	kafka.UnsupportedSASLMechanism: {
		Cause:  "the broker does not offer this SASL mechanism",
		Remedy: "set kafka.sasl.mechanism to one that the listener has enabled", Permanent: true,
	},
	kafka.IllegalSASLState: {
		Cause: "the listener knows no login (SASL), but kafka.sasl.mechanism is set",
		Remedy: "set kafka.sasl.mechanism to \"\" and remove the other settings under kafka.sasl, or use the port " +
			"of a listener with SASL", Permanent: true,
	},
	kafka.UnknownTopicOrPartition: {
		Cause: "the topic does not exist, or this user has no right on it",
		Remedy: "create it or set kafka.create_topics: true; else grant Read on the input topic and Write on the " +
			"output topics",
	},
	kafka.TopicAuthorizationFailed: {
		Cause:     "a right on the topic is missing, or the topic does not exist",
		Remedy:    "grant Read on the input topic and Write on the output topics, and check that they exist",
		Permanent: true,
	},
	kafka.GroupAuthorizationFailed: {
		Cause: "this user may not use the consumer group",
		Remedy: "grant Read on the group named in kafka.group, for a shadow followed by -shadow, for stories on all groups " +
			"that begin with it and -stories-", Permanent: true,
	},
	kafka.TransactionalIDAuthorizationFailed: {
		Cause:  "this user may not use the transactional id",
		Remedy: "grant Write on it", Permanent: true,
	},
	kafka.ClusterAuthorizationFailed: {
		Cause:  "this user may not do that on the cluster",
		Remedy: "grant the right, or create the topics beforehand and set kafka.create_topics: false", Permanent: true,
	},
	kafka.MessageSizeTooLarge: {
		Cause:  "the topic takes no batch of this size",
		Remedy: "raise the topic's max.message.bytes or lower kafka.max_message_bytes",
	},
	kafka.RecordListTooLarge: {
		Cause:  "the topic takes no batch of this size",
		Remedy: "raise the topic's segment.bytes or lower kafka.max_message_bytes",
	},
	kafka.InvalidTimestamp: {
		Cause:  "the output topic refuses the record's timestamp",
		Remedy: "raise the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms",
	},
	kafka.InvalidRecord: {
		Cause: "the output topic refuses the record",
		Remedy: "set the topic's cleanup.policy to delete, if it is compacted; else ask who runs the brokers for " +
			"their checks",
	},
	kafka.OutOfOrderSequenceNumber:     sequenceLost,
	kafka.UnknownProducerId:            sequenceLost,
	kafka.NotEnoughReplicas:            fewReplicas,
	kafka.NotEnoughReplicasAfterAppend: fewReplicas,
	kafka.LeaderNotAvailable:           noLeader,
	kafka.InvalidReplicationFactor: {
		Cause:  "there are fewer brokers than replicas wanted",
		Remedy: "lower default.replication.factor of the brokers, or create the topics", Permanent: true,
	},
	kafka.PolicyViolation: {
		Cause:  "a policy of the cluster forbids the topic",
		Remedy: "create the topics by hand", Permanent: true,
	},
	kafka.InvalidTopic: {
		Cause:  "a topic name is invalid",
		Remedy: "use letters, digits, '.', '_' and '-' only", Permanent: true,
	},
	kafka.InvalidSessionTimeout: {
		Cause:     "the broker does not allow this session timeout",
		Remedy:    "choose kafka.session_timeout between group.min.session.timeout.ms and group.max.session.timeout.ms",
		Permanent: true,
	},
	kafka.InvalidGroupId: {
		Cause: "the group name is invalid", Remedy: "change kafka.group",
		Permanent: true,
	},
	kafka.InconsistentGroupProtocol: {
		Cause:  "programs other than Echosieve use the group",
		Remedy: "set kafka.group to a group that only Echosieve uses", Permanent: true,
	},
	kafka.OffsetMetadataTooLarge: {
		Cause: "the brokers take no commit with so long a label: positions in the output topics stand beside " +
			"each offset",
		Remedy: "set offset.metadata.max.bytes of the brokers to 4096, their default, or more, or use shorter " +
			"topic names",
	},
	kafka.GroupCoordinatorNotAvailable: {
		Cause:  "the group coordinator is not ready",
		Remedy: "wait; if it lasts, check that __consumer_offsets could be created",
	},
	kafka.GroupMaxSizeReached: {
		Cause:  "the group is full",
		Remedy: "raise group.max.size or run fewer processes",
	},
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
		return &diag.Problem{
			Cause:  "the topic or partition does not exist, or this user has no right on it",
			Remedy: "create it, or grant Read on the input topic and Write on the output topics", Err: err,
		}
	case errors.Is(err, protocol.ErrNoLeader):
		p := noLeader
		p.Err = err
		return &p
	case strings.Contains(err.Error(), "unable to read metadata for member"): // the same; its text is broken
		p := problems[kafka.InconsistentGroupProtocol]
		p.Err, p.Permanent = errOtherProgram, false
		return &p
	case strings.Contains(err.Error(), "expecting TLS"): // kafka-go has no type for it
		return &diag.Problem{
			Cause:  "the listener speaks TLS",
			Remedy: "set kafka.tls.enabled: true or use the port of a listener without TLS", Err: err,
		}
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
