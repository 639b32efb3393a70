package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// forgedKey is the key of all forged records.
const forgedKey = "forged"

// forgedPadding is the number of further records of a batch, without headers. Batches of the service have fewer
// records, so no broker takes one of them for a repetition of a forged batch.
const forgedPadding = 300

// appendForged appends a batch to a partition for each producer that has written there lately. Its records name the
// inputs in the header; forgedPadding records follow. The sequence goes on where the producer's last batch ended,
// or begins anew in the epoch, if that is above the producer's. It returns the number of records.
func appendForged(ctx context.Context, client *kgo.Client, topic string, partition int32, header string,
	inputs []string, epoch int16) (records int, err error) {
	adm := kadm.NewClient(client)
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	described, err := adm.DescribeProducers(ctx, set)
	if err != nil {
		return 0, err
	}
	topics, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	for _, p := range described[topic].Partitions[partition].ActiveProducers {
		by, sequence := p.ProducerEpoch, p.LastSequence+1
		if epoch > by {
			by, sequence = epoch, 0
		}
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = partition, forgedBatch(p.ProducerID, by, sequence, header, inputs)
		of := kmsg.NewProduceRequestTopic()
		of.Topic, of.TopicID, of.Partitions = topic, topics[topic].ID, []kmsg.ProduceRequestTopicPartition{part}
		request := kmsg.NewPtrProduceRequest()
		request.Acks, request.TimeoutMillis, request.Topics = -1, 10_000, []kmsg.ProduceRequestTopic{of}
		response, err := client.Broker(int(p.Leader)).Request(ctx, request)
		if err != nil {
			return records, err
		}
		if err := kerr.ErrorForCode(response.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
			return records, fmt.Errorf("forge %s/%d as producer %d: %w", topic, partition, p.ProducerID, err)
		}
		records += len(inputs) + forgedPadding
	}
	return records, nil
}

// forgedBatch is a record batch of version 2, without compression and outside of a transaction.
func forgedBatch(producer int64, epoch int16, sequence int32, header string, inputs []string) []byte {
	const crcAt, attributesAt, lengthAt = 17, 21, 12
	var records []byte
	count := len(inputs) + forgedPadding
	for i := range count {
		r := kmsg.Record{OffsetDelta: int32(i), Key: []byte(forgedKey), Value: []byte("{}")}
		if i < len(inputs) {
			r.Headers = []kmsg.Header{{Key: header, Value: []byte(inputs[i])}}
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length 0 takes one byte
		records = r.AppendTo(records)
	}
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(count - 1), FirstTimestamp: now,
		MaxTimestamp: now, ProducerID: producer, ProducerEpoch: epoch, FirstSequence: sequence, NumRecords: int32(count),
		Records: records}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[lengthAt-4:], uint32(len(raw)-lengthAt))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[attributesAt:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
