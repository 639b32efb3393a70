package redisindex

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
)

// runsPerAttempt bounds the runs of an attempt that follow each other without a pause. It limits the load on
// the servers if the cause of a repetition returns at once.
const runsPerAttempt = 10

// Claim implements pipeline.Index. As long as Redis does not serve the claim (it is away, read-only, loading,
// out of memory, or refuses a command), Claim runs the claim again, after pauses that grow to 3
// seconds, until ctx ends or, if ctx comes from stopping.With, soon after the process has begun to stop. An id
// or signature that is too long is a mistake of the caller: Claim returns an error at once.
func (x *Index) Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error) {
	for i := range articles {
		if a := &articles[i]; len(a.ID) > article.MaxIDBytes || len(a.Signature) > article.MaxSignatureBytes {
			return nil, fmt.Errorf(
				"redisindex: claim %s: the id has %d bytes and the signature %d, at most %d and %d are allowed",
				a.Coordinates, len(a.ID), len(a.Signature), article.MaxIDBytes, article.MaxSignatureBytes)
		}
	}
	if len(articles) == 0 {
		return nil, nil
	}
	c := newCall(x, articles)
	defer c.endWait()
	var verdicts []article.Verdict
	err := stopping.Until(ctx, 0, func(ctx context.Context) (err error) {
		if verdicts, err = c.attempt(ctx); err != nil && ctx.Err() == nil {
			x.metrics.retries.Inc()
			x.log.DebugContext(ctx, "claim failed, trying again", "err", err, "kind", classify(err))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("redisindex: claim: %w", err)
	}
	return verdicts, nil
}

// attempt runs the claim until it has verdicts, or until it fails with an error that needs a pause.
func (c *call) attempt(ctx context.Context) (verdicts []article.Verdict, err error) {
	x := c.x
	for range runsPerAttempt {
		if verdicts, err = c.run(ctx); err == nil {
			return verdicts, nil
		}
		var again bool
		if again, err = x.Repair(ctx, err); !again {
			break
		}
		x.metrics.retries.Inc()
	}
	if ctx.Err() != nil {
		return nil, err // the caller gave up
	}
	if !errors.Is(err, errTicketChanged) { // then another worker made progress
		x.metrics.errors.WithLabelValues(classify(err)).Inc()
	}
	c.waits = true
	x.health("redis", c, explain(err, x.client, x.cfg.BaseNamespace()))
	return nil, err
}

// Repair removes the cause of a run's error where that needs no pause. It says whether to run the claim again
// at once, and returns the error that is left.
func (x *Index) Repair(ctx context.Context, err error) (again bool, left error) {
	var damaged *keyspace.DamagedError
	switch {
	case ctx.Err() != nil:
		return false, err
	case x.session.LoadAgain(err), errors.Is(err, errTicketChanged):
		return true, err
	case errors.As(err, &damaged):
		failed := x.setAside(ctx, damaged)
		return failed == nil, errors.Join(failed, err)
	default:
		return false, err
	}
}

// crashPoints are passed after the steps, in their order.
var crashPoints = [...]crashpoint.Point{
	crashpoint.AfterStoreLists, crashpoint.AfterStoreEntries, crashpoint.AfterDrawTickets,
	crashpoint.AfterLookUp, crashpoint.AfterFetchEntries, crashpoint.AfterDecide,
}

// StoreLists adds articles to their block lists and registers their slices, as the first step of a claim
// does. It is for tools.
func (x *Index) StoreLists(ctx context.Context, articles []article.Article) error {
	err := x.session.EnsureScripts(ctx)
	if err == nil {
		err = storing{newClaim(newCall(x, articles))}.storeLists(ctx)
	}
	x.session.LoadAgain(err)
	return err
}

// run runs the six steps once. The index is correct only because Redis has acknowledged each step before the
// next step begins (see the package comment).
func (c *call) run(ctx context.Context) ([]article.Verdict, error) {
	if err := c.x.session.EnsureScripts(ctx); err != nil {
		return nil, err
	}
	start, run := time.Now(), newClaim(c)
	for i, step := range run.steps() {
		if err := step(ctx); err != nil {
			return nil, err
		}
		crashpoint.Here(crashPoints[i])
	}
	run.addWitnesses(start)
	return run.verdicts(), nil
}

// steps returns the steps in their order.
func (c *claim) steps() [len(crashPoints)]func(context.Context) error {
	s, l, d := storing{c}, looking{c}, deciding{c}
	return [...]func(context.Context) error{s.storeLists, s.storeEntries, l.drawTickets, l.lookUp, l.fetchEntries,
		d.decide}
}

// setAside removes the damage from the fields, so that their partition goes on. It copies the damaged value
// to a separate key, which expires like an entry, and leaves only the entries before the damage. Articles
// whose entries were behind the damage are forgotten: copies of them can pass as unique. If another process
// has removed the damage already, nothing happens.
func (x *Index) setAside(ctx context.Context, d *keyspace.DamagedError) error {
	for _, field := range d.Fields {
		value, err := x.client.HGet(ctx, d.Key, field).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		found, bad := x.keys.Layout.InField(d.Key, 0, field, value)
		if !bad {
			continue
		}
		intact := 0
		for _, s := range found {
			intact += len(s.At.Entry)
		}
		copied := x.keys.DamagedCopy(d.Key, field)
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, copied, "value", value)
		pipe.Expire(ctx, copied, x.keys.Layout.Lifetime)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		pipe = x.client.Pipeline()
		mended := mendScript.EvalSha(ctx, pipe, []string{d.Key}, field, value, value[:intact])
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		if done, _ := mended.Bool(); done {
			x.metrics.damaged.Inc()
			x.losses.SetAside()
			x.log.ErrorContext(ctx,
				"a damaged entry was set aside: copies of the article that it held can pass as unique; did "+
					"another program write into this namespace?",
				"key", d.Key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to",
				copied)
		}
	}
	return nil
}
