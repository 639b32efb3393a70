package learning

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/recipe"
)

// Follow opens the topic for a command, which publishes nothing that it learns, and makes the recipe leave out what
// counts. It returns nil if nothing is learnt. Errors say what to do. The caller closes the topic; who decides longer
// than a moment runs it.
func Follow(ctx context.Context, cfg broker.Config, window time.Duration, made *recipe.Recipe) (*Topic, error) {
	if cfg.Topics.Learnt == "" {
		return nil, nil
	}
	cfg.CreateTopics = false
	rows := &learnt.Rows{}
	t, err := New(cfg, window, rows, nil, slog.New(slog.DiscardHandler), Health{
		Report: func(string, fmt.Stringer, error) {}, Warn: func(string, string, string) {}})
	if err != nil {
		return nil, err
	}
	t.readsOnly, t.impatient = true, true
	if err := t.Open(ctx); err != nil {
		t.Close()
		return nil, err
	}
	made.LeaveOut(rows)
	return t, nil
}

// Rows are the rows of the topic.
func (t *Topic) Rows() *learnt.Rows { return t.book.rows }

// Publish publishes rows of a command, such as vetoes, and returns when brokers have them.
func (t *Topic) Publish(ctx context.Context, rows []learnt.Row) error {
	for i := range rows {
		if !t.book.learn(&rows[i], time.Now()) {
			return fmt.Errorf("%d rows are more than one command publishes: %d", len(rows), maxPending)
		}
	}
	for {
		published, err := t.publish(ctx)
		if err != nil {
			return fmt.Errorf("learning: %w", broker.Explain(err))
		}
		if !published {
			return nil
		}
		if err := t.read(ctx); err != nil {
			return fmt.Errorf("learning: %w", broker.Explain(err))
		}
	}
}
