package produce

import (
	"context"
	"io"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/pipeline/record"
	"echosieve/sample"
)

// Sample publishes the shipped sample, the broken lines, too. The key is the id of the article, as crawlers set it. The
// summary is valid also if there is an error.
func Sample(ctx context.Context, cfg config.Config, errOut io.Writer, o Options) (Summary, error) {
	summary, _, err := publish(ctx, cfg, errOut, -1, o.Rate, func(p *publisher, _ *files.Progress) error {
		for line := range sample.Lines() {
			r := record.Record{Value: line}
			if content, reject := cfg.Input.Decode(&r); reject == nil {
				r.Key = []byte(content.ID)
			}
			if err := p.add(ctx, r, false); err != nil {
				return err
			}
		}
		return nil
	})
	return summary, err
}
