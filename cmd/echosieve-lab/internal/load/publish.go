package load

import (
	"context"
	"strconv"
	"time"

	"echosieve/consumer/tools"
	"echosieve/pipeline/record"
)

const (
	// slot is the time between two moments at which records are due. With a shorter slot the publisher sends
	// more requests. With a longer one more records arrive at the same time.
	slot = 10 * time.Millisecond
	// mostAtOnce bounds the records that one call hands to the producer when the publisher is late.
	mostAtOnce = 1000
)

// publisher publishes the records of a run evenly.
type publisher struct {
	out    *tools.Producer
	source *Feed
	ledger *ledger
	trial  string
	rate   float64
}

// run publishes for the time lasts.
func (p *publisher) run(ctx context.Context, lasts time.Duration) (err error) {
	tick := time.NewTicker(slot)
	defer tick.Stop()
	slots := int(lasts / slot)
	for next := 0; next < slots; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var batch []record.Record
		for ; next < slots && time.Duration(next)*slot <= time.Since(p.ledger.start); next++ {
			batch, err = p.fill(ctx, batch, next)
			if err != nil {
				return err
			}
		}
		if err := p.out.Produce(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// fill adds the records that are due in a slot to the batch, and publishes the batch when it is full.
func (p *publisher) fill(ctx context.Context, batch []record.Record, number int) ([]record.Record, error) {
	due := time.Duration(number) * slot
	until := func(slots int) int { return int(p.rate * float64(slots) * slot.Seconds()) }
	for range until(number+1) - until(number) {
		id, value := p.source.Next()
		rec := record.Record{Key: []byte(id), Value: value, Time: p.ledger.start.Add(due), Headers: []record.Header{
			{Key: headerNumber, Value: []byte(p.trial + "/" + strconv.Itoa(p.ledger.publish(due)))},
		}}
		if batch = append(batch, rec); len(batch) >= mostAtOnce {
			if err := p.out.Produce(ctx, batch); err != nil {
				return nil, err
			}
			batch = nil
		}
	}
	return batch, nil
}
