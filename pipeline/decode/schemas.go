package decode

import (
	"context"
	"fmt"

	"echosieve/pipeline/decode/avrojson"
)

// Schemas finds the schemas with which Avro values were written. Safe for concurrent use.
type Schemas interface {
	// Schema returns the schema with an id: a number, a UUID, or "" for values without an id. It may ask a server. An
	// error that is a *record.RejectError says that there is no such schema, or none that Avro values can have. Any
	// other error says that the server did not answer.
	Schema(ctx context.Context, id string) (*avrojson.Schema, error)
}

// Pending is an error of Schemas and of With: it is not known yet whether there is a schema. The caller
// gives the memory of the batch back, calls Wait, and begins with the record again.
type Pending struct {
	Schema string // id
	Record string // coordinates of the record that needs the schema; With sets them
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
