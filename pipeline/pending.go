package pipeline

import (
	"context"
	"errors"
	"fmt"

	"echosieve/pipeline/record"
)

// Pending is an error of Schemas and of Prepare: it is not known yet whether there is a schema. The caller
// gives the memory of the batch back, calls Wait, and begins with the record again.
type Pending struct {
	Schema string // id
	Record string // coordinates of the record that needs the schema; Prepare sets them
	Why    error
	// Settle returns nil when Schemas can say more of the schema, and an error only if ctx ends. record is
	// named to those who watch.
	Settle func(ctx context.Context, record string) error
}

func (p *Pending) Error() string {
	return fmt.Sprintf("schema %s of %s is not known yet: %v", p.Schema, p.Record, p.Why)
}

func (p *Pending) Unwrap() error { return p.Why }

// Wait returns nil when it may be known whether there is the schema, and an error only if ctx ends.
func (p *Pending) Wait(ctx context.Context) error { return p.Settle(ctx, p.Record) }

// ofRecord names the record in an error of Schemas.
func ofRecord(err error, r *record.Record) error {
	if pending := (*Pending)(nil); errors.As(err, &pending) {
		pending.Record = r.String()
	}
	return err
}
