package service

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// lag is the metric that says how far the stories are behind the output topics. The role has a consumer for each topic,
// and another one in each generation, so the metrics of consumers would collide: of each topic, lag tells one.
type lag struct {
	desc *prometheus.Desc

	mu        sync.Mutex
	consumers map[string]*prometheus.Registry // by topic
}

func newLag() *lag {
	return &lag{consumers: map[string]*prometheus.Registry{}, desc: prometheus.NewDesc("echosieve_stories_lag_records",
		"Records of an output topic in partitions of this process that are not yet in the stories.",
		[]string{"topic"}, nil)}
}

// of returns a registry for the next consumer of a topic.
func (l *lag) of(topic string) *prometheus.Registry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.consumers[topic] = prometheus.NewRegistry()
	return l.consumers[topic]
}

// Describe implements prometheus.Collector.
func (l *lag) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

// Collect implements prometheus.Collector.
func (l *lag) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for topic, registry := range l.consumers {
		records := 0.0
		families, _ := registry.Gather() // what it could gather
		for _, family := range families {
			if family.GetName() == "echosieve_consumer_lag_records" {
				for _, partition := range family.GetMetric() {
					records += partition.GetGauge().GetValue()
				}
			}
		}
		to <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, records, topic)
	}
}
