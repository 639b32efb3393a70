package pipeline

import (
	"context"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
)

// Shadow decides as its Pipeline does, and sends every output to the topic of the shadow instead of the topic
// that the verdict names. The verdicts of other settings can so be compared with those of the service, which
// they do not disturb.
type Shadow struct {
	*Pipeline
}

// Decide returns the outputs of Pipeline.Decide. Each has the additional header HeaderShadow, whose value is
// the destination that the service would have chosen, such as "duplicate".
func (s *Shadow) Decide(ctx context.Context, b *Batch) ([]Output, error) {
	outputs, err := s.Pipeline.Decide(ctx, b)
	for i := range outputs {
		s.redirect(&outputs[i])
	}
	return outputs, err
}

// Refused returns the output of Pipeline.Refused.
func (s *Shadow) Refused(ctx context.Context, b *Batch, out *Output, why *record.RejectError) (Output, error) {
	dead, err := s.Pipeline.Refused(ctx, b, out, why)
	if dead.Destination != article.ToShadow {
		s.redirect(&dead)
	}
	return dead, err
}

func (s *Shadow) redirect(o *Output) {
	o.Headers = append(o.Headers, header(HeaderShadow, o.Destination.String()))
	o.Destination = article.ToShadow
	o.OmitValue = true
}
