package produce

import (
	"context"
	"io"
	"iter"
	"time"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/sample"
)

// shareOfCopies is the share of copies among the articles that follow the sample in a loop.
const shareOfCopies = .3

// Sample publishes the shipped sample. With loop it goes on, until ctx ends, with articles of a sample.Feed,
// each under a new id. The sample itself is not repeated: within the window every repetition would be an exact copy.
// The summary is valid also if there is an error. With loop the end of ctx is no error.
func Sample(ctx context.Context, cfg config.Config, loop bool, errOut io.Writer, o Options) (Summary, error) {
	summary, _, err := publish(ctx, cfg, errOut, -1, o.Rate, func(p *publisher, _ *files.Progress) error {
		for rec := range sampleRecords(cfg.Input.Config, loop) {
			if err := p.add(ctx, rec, false); err != nil {
				return err
			}
		}
		return nil
	})
	if loop && ctx.Err() != nil {
		err = nil
	}
	return summary, err
}

// sampleRecords iterates over the lines of the sample, the broken ones, too, and with loop over made articles
// without end. The key is the id of the article, as crawlers set it.
func sampleRecords(input decode.Config, loop bool) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		for line := range sample.Lines() {
			r := record.Record{Value: line}
			if content, reject := input.Decode(&r); reject == nil {
				r.Key = []byte(content.ID)
			}
			if !yield(r) {
				return
			}
		}
		// A process that starts again must not repeat the articles of the one before.
		feed := sample.NewFeed("sample", shareOfCopies, uint64(time.Now().UnixNano()))
		for loop {
			id, value := feed.Next()
			if !yield(record.Record{Key: []byte(id), Value: value}) {
				return
			}
		}
	}
}
