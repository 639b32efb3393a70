package service_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/pipeline/article"
	"echosieve/test/inprocess"
)

// A reload changes the topics of new copies. A record that is delivered again goes to the topic that it went to.
func TestReloadOfPolicy(t *testing.T) {
	const text = "The first battery-powered ferry on the Ellery Strait carried 140 passengers to Gull Island on " +
		"Monday, " +
		"replacing a diesel boat that had served the route since 1979. The crossing takes 35 minutes and the vessel " +
		"recharges at the pier in under an hour. Islanders lined the harbour wall to greet it, and the school " +
		"choir sang."
	w := inprocess.Start(t)
	now := time.Now()
	publish := func(text string) string {
		value, err := json.Marshal(map[string]string{"text": text})
		require.NoError(t, err)
		now = now.Add(time.Second)
		return w.Publish(t, 0, now, string(value))
	}
	topics := func(n int) map[string][]string { // by source
		found := map[string][]string{}
		for _, o := range w.Verdicts(t, n) {
			for _, h := range o.Headers {
				if h.Key == "echosieve-input" {
					found[string(h.Value)] = append(found[string(h.Value)], o.Topic)
				}
			}
		}
		return found
	}
	names := w.Config.Kafka.Topics
	original := publish(text)
	topics(1)
	early := publish(text + " More boats are planned.")
	require.Equal(t, map[string][]string{original: {names.Unique}, early: {names.Duplicate}}, topics(2))

	unique := article.ToUnique.String()
	w.Config.Policy = article.Policy{Contained: unique, Extends: unique, Revises: unique, Overlaps: unique,
		SameID: unique}
	w.Reload()
	late := publish(text + " Fuel is brought by truck.")
	require.Equal(t, map[string][]string{original: {names.Unique}, early: {names.Duplicate}, late: {names.Unique}},
		topics(3))

	w.Stop()
	_, err := kadm.NewClient(w.Kafka).DeleteGroup(t.Context(), w.Config.Kafka.Group)
	require.NoError(t, err)
	w.Run(t)
	twice := func(topic string) []string { return []string{topic, topic} }
	require.Equal(t, map[string][]string{original: twice(names.Unique), early: twice(names.Duplicate),
		late: twice(names.Unique)}, topics(6))
}
