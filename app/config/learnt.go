package config

import "echosieve/pipeline/recipe"

// LearntTopic returns the name of the topic in which processes share which sentences publishers repeat; empty: nothing
// is learnt.
func (c Config) LearntTopic() string {
	if !c.Detection.Learn || c.Recipe != recipe.News {
		return ""
	}
	return c.Kafka.Topics.First() + "-learnt"
}
