package consumer

import (
	"context"
	"time"

	"echosieve/consumer/broker"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
)

// Labels are stored beside the group's committed offsets (broker.Commit), and survive a restart of all
// members. The index stores which one it is and how far it has counted. So it notices after a restart that
// Redis has lost data, and that another index was used.
type Labels interface {
	// Label returns what the index stores: one word without spaces, of a few hundred bytes, or "". It is called before
	// each commit.
	Label() string
	// Recall is called whenever partitions are assigned, and every 5 seconds, with the labels of all
	// partitions of the input topics that have one, by the offset beside which the label stands. Calls may be
	// concurrent. The map belongs to Recall.
	Recall(labels map[article.Coordinates]string)
	// Decider says whether the latest of these labels names the index of this process, and else in words how this
	// index differs from the one that it names; "": no label names one.
	Decider(labels map[article.Coordinates]string) (mine bool, differs string)
	// CatchUp is called before this process joins the group. If its index was filled up to known positions, it
	// stores what others have decided since, and says how far it is. It returns false if nothing was lacking.
	CatchUp(ctx context.Context, labels map[article.Coordinates]string, say func(string)) (lacked bool, err error)
}

// labelsInterval is the time between two looks at the labels of all partitions; tests set a shorter one.
const labelsInterval = 5 * time.Second

// labels hands the labels of the group's commits to the index. Its Labels are nil if the process keeps none.
type labels struct {
	Labels
	inputs   *inputs
	interval time.Duration // labelsInterval
}

// recall hands on what was committed.
func (l *labels) recall(committed []broker.Commit) {
	if l.Labels != nil {
		l.Recall(broker.IndexLabels(committed))
	}
}

// watch recalls the labels until ctx ends, because members that commit beside this one do not tell it. A request
// that fails is left to the next time: what the members need to work reports the fault.
func (l *labels) watch(ctx context.Context) {
	if l.Labels == nil {
		return
	}
	for stopping.Wait(ctx, l.interval) == nil {
		if committed, err := l.inputs.committed(ctx); err == nil {
			l.recall(committed)
		}
	}
}
