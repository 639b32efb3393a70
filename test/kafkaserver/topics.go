package kafkaserver

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics creates topics and waits until the broker knows the leader of each partition. The creation is acknowledged earlier:
// for a moment the broker still answers that there is no such topic.
func CreateTopics(t testing.TB, client *kgo.Client, partitions int32, configs map[string]*string, topics ...string) {
	t.Helper()
	created, err := kadm.NewClient(client).CreateTopics(t.Context(), partitions, -1, configs, topics...)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		req.Topics = append(req.Topics, topic)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		res, err := req.RequestWith(t.Context(), client)
		if err == nil && served(res, partitions) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the topics %v have no leaders: %v, %v", topics, res, err)
		}
	}
}

func served(res *kmsg.MetadataResponse, partitions int32) bool {
	for _, topic := range res.Topics {
		if topic.ErrorCode != 0 || len(topic.Partitions) != int(partitions) {
			return false
		}
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}
