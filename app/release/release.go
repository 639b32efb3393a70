// Package release takes the verdict of a dropped article back: it publishes the article's record into its input
// partition again, with pipeline.HeaderRelease. The service decides that record as unique.
//
// A record is released once. A mark in Redis says from which offset on the new record may stand, and then where it
// stands. Whoever is killed between the two steps leaves a mark, from which the next call goes on: it searches the new
// record before it publishes one. If two calls publish the same record at the same time after all, the index decides
// the second one as an exact copy of the first.
package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
)

// Releaser releases articles of one service. It needs Read and Write on the input topics, Read on the output topics and
// the rights of the service in Redis. Safe for concurrent use.
type Releaser struct {
	cfg     config.Config
	reader  *inquiry.Reader
	archive *tools.Archive
	marks   *admin.Tools
	// passed is called after each step, and ends the call with its error. Tests set it.
	passed func(step string) error
}

// The steps after which a call may be killed.
const (
	stepMarked    = "marked"
	stepPublished = "published"
)

// New returns a Releaser, which the caller closes. It writes the progress of searches to out.
func New(cfg config.Config, index *redisindex.Index, out io.Writer) (*Releaser, error) {
	archive, err := tools.NewArchive(cfg.Kafka, cfg.Kafka.Topics.All()...)
	if err != nil {
		return nil, err
	}
	reader := inquiry.NewReader(cfg, out)
	reader.OnlyConfigured = true
	return &Releaser{cfg: cfg, reader: reader, archive: archive, marks: admin.New(index),
		passed: func(string) error { return nil }}, nil
}

// Close closes the connections to Kafka.
func (r *Releaser) Close() {
	r.reader.Close()
	r.archive.Close()
}

// Released says what became of a dropped article. Its JSON names must not change.
type Released struct {
	Record  string `json:"record"`             // of the dropped article, in the input
	Output  string `json:"output"`             // its record in an output topic
	New     string `json:"released,omitempty"` // the record that takes its place; empty if none was published
	Already bool   `json:"already"`            // an earlier call has released it
}

// Release publishes the record of a dropped article again, unless an earlier call has done so. The article is named as
// for inquiry.Reader.Find. With dry it writes nothing. An article that cannot be released gives a *command.AnswerError,
// which says why.
func (r *Releaser) Release(ctx context.Context, name string, since time.Time, dry bool) (Released, error) {
	o, err := r.reader.Find(ctx, name, since)
	if err != nil {
		return Released{}, err
	}
	done := Released{Record: o.Input.String(), Output: o.Record.String()}
	if of, ok := pipeline.ReleaseOf(&o.Record); ok && o.Record.Topic == r.cfg.Kafka.Topics.Unique { // found by its id
		done.Record, done.New, done.Already = of.String(), done.Record, true
		return done, nil
	}
	if why := r.refusal(o); why != "" {
		return done, &command.AnswerError{Text: done.Record + ": " + why}
	}
	rec, err := r.reader.Fetch(ctx, o.Input)
	switch {
	case errors.Is(err, tools.ErrNoRecord):
		return done, &command.AnswerError{Text: fmt.Sprintf("%v: publish the article into the input topic again, "+
			"with the header %s: %s", err, pipeline.HeaderRelease, o.Input)}
	case err != nil:
		return done, err
	case rec.Oversize != nil || rec.Value == nil:
		return done, &command.AnswerError{Text: done.Record + ": its value is null, or above kafka.max_message_bytes"}
	}
	if dry {
		return done, nil
	}
	end, err := r.archive.Offsets(ctx, rec.Topic, rec.Partition)
	if err != nil {
		return done, err
	}
	mark, err := r.marks.BeginRelease(ctx, o.Input, end.Next)
	if err == nil {
		err = r.passed(stepMarked)
	}
	if err != nil {
		return done, err
	}
	if done.Already = mark.Done != (article.Coordinates{}); !done.Already {
		if mark.Done, done.Already, err = r.publish(ctx, &rec, mark.From); err == nil {
			err = r.marks.EndRelease(ctx, o.Input, mark.Done)
		}
	}
	done.New = mark.Done.String()
	return done, err
}

// refusal says why a record is not released; "" if it is.
func (r *Releaser) refusal(o *inquiry.Output) string {
	topics := r.cfg.Kafka.Topics
	switch {
	case o.Reject != nil:
		return "it is a dead letter: repair the cause, and publish it again"
	case o.Verdict.Root == (article.Ref{}):
		return "its value is null"
	case o.Verdict.Kind == article.Unique || o.Record.Topic == topics.Unique:
		return "it is in the topic " + o.Record.Topic + " already: nothing was dropped"
	case !slices.Contains(topics.Inputs, o.Input.Topic):
		return "its topic is not in kafka.topics.inputs: the service would not read its record again"
	}
	return ""
}

// publish publishes the record again, unless it stands behind the offset from already, and returns where it stands.
func (r *Releaser) publish(ctx context.Context, rec *record.Record, from int64) (
	at article.Coordinates, already bool, err error,
) {
	if at, already, err = r.find(ctx, rec.Coordinates, from); already || err != nil {
		return at, already, err
	}
	p, err := tools.NewProducer(r.cfg.Kafka, rec.Topic)
	if err != nil {
		return at, false, err
	}
	again := *rec
	again.Headers = append(slices.Clone(rec.Headers),
		record.Header{Key: pipeline.HeaderRelease, Value: []byte(rec.String())})
	err = p.ProduceInto(ctx, rec.Partition, []record.Record{again})
	if err = errors.Join(err, p.Close()); err == nil {
		err = r.passed(stepPublished)
	}
	if err != nil {
		return at, false, err
	}
	at, found, err := r.find(ctx, rec.Coordinates, from)
	if err == nil && !found {
		err = fmt.Errorf("%s: the record that was published in its place is not found behind offset %d: is the input "+
			"topic compacted?", rec, from)
	}
	return at, false, err
}

// find finds the record that releases the one at the coordinates, from an offset of its partition on.
func (r *Releaser) find(ctx context.Context, released article.Coordinates, from int64) (
	at article.Coordinates, found bool, err error,
) {
	end, err := r.archive.Offsets(ctx, released.Topic, released.Partition)
	if err != nil {
		return at, false, err
	}
	start := article.Coordinates{Topic: released.Topic, Partition: released.Partition, Offset: max(from, end.First)}
	err = r.archive.Read(ctx, start, end.Next, func(rec *record.Record) error {
		if of, ok := pipeline.ReleaseOf(rec); ok && of == released && !found {
			at, found = rec.Coordinates, true
		}
		return nil
	})
	return at, found, err
}
