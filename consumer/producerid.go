package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
)

// noProducerID stands in batches of a producer that is not idempotent, and in a writer that has no id yet.
const noProducerID = -1

// producerIDs hands out producer ids. Safe for concurrent use.
type producerIDs struct {
	cluster *cluster
	refused atomic.Bool
	tell    func(*diag.Problem) // called once if brokers refuse; may be nil
}

// next returns a new producer id with its first epoch. It returns noProducerID, without an error, from the moment on
// that a broker has refused one for lack of a right, or knows no such request: batches then carry no sequence numbers.
func (p *producerIDs) next(ctx context.Context) (id int64, epoch int16, err error) {
	if p.refused.Load() {
		return noProducerID, -1, nil
	}
	id, epoch, err = p.cluster.initProducerID(ctx)
	if problem := notIdempotent(err); problem != nil {
		if p.refused.CompareAndSwap(false, true) && p.tell != nil {
			p.tell(problem)
		}
		return noProducerID, -1, nil
	}
	return id, epoch, err
}

// errNoProducerIDs is for brokers that are not Kafka and leave the request out.
var errNoProducerIDs = errors.New("the broker does not offer InitProducerId")

// notIdempotent explains an error for which waiting is no cure; other errors, and none, give nil.
func notIdempotent(err error) *diag.Problem {
	switch {
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		return &diag.Problem{
			Cause:  "this user gets no producer id, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "grant Write on the output topics; with Kafka before 2.8 grant IdempotentWrite on the cluster besides; then restart",
			Err:    err, Permanent: true,
		}
	case errors.Is(err, errNoProducerIDs), errors.Is(err, kafka.UnsupportedVersion):
		return &diag.Problem{
			Cause:  "the broker gives no producer ids, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "use Kafka 2.3 or later",
			Err:    err, Permanent: true,
		}
	}
	return nil
}

// initProducerID asks any broker for a producer id.
func (c *cluster) initProducerID(ctx context.Context) (int64, int16, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.addr, &producerIDRequest{clientID: c.cfg.ClientID})
	if err != nil {
		return noProducerID, -1, c.rootCause(ctx, err)
	}
	res := m.(producerIDResponse)
	if res.ErrorCode != 0 {
		return noProducerID, -1, fmt.Errorf("producer id: %w", kafka.Error(res.ErrorCode))
	}
	return res.ProducerID, res.ProducerEpoch, nil
}

// producerIDRequest is an InitProducerId request without a transactional id. kafka-go v0.4.51 would send its own one to the
// coordinator of the transactional id "", which needs a right on that and creates the topic __transaction_state.
type producerIDRequest struct {
	clientID string
	version  int16 // negotiated; -1: the broker has no such request
}

type producerIDResponse struct{ *initproducerid.Response }

var _ protocol.RawExchanger = (*producerIDRequest)(nil)

// ApiKey implements protocol.Message.
func (*producerIDRequest) ApiKey() protocol.ApiKey { return protocol.InitProducerId } //nolint:revive // name given by the interface

// Required implements protocol.RawExchanger: always.
func (r *producerIDRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = -1
	if v, ok := versions[protocol.InitProducerId]; ok {
		r.version = v
	}
	return true
}

// RawExchange implements protocol.RawExchanger.
func (r *producerIDRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < 0 {
		return nil, errNoProducerIDs
	}
	m, err := protocol.RoundTrip(rw, r.version, correlationID, r.clientID, &initproducerid.Request{
		ProducerID: noProducerID, ProducerEpoch: -1,
	})
	if err != nil {
		return nil, err
	}
	return producerIDResponse{m.(*initproducerid.Response)}, nil
}
