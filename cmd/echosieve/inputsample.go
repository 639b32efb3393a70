package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

const (
	// samplePartitions and sampleRecords bound the sample: the last records of the first partitions of the input topic.
	samplePartitions = 8
	sampleRecords    = 50
	// manyWithout is the share of sampled records without a word from which on check warns.
	manyWithout = 0.05
	// mostlyDead is the share of dead letters from which on the service cannot do its work with these settings.
	mostlyDead = 0.5
)

type inputSample struct {
	records, dead, noWords int
	// noPage counts articles with neither an id nor an address, noPublisher those whose publisher is not known.
	noPage, noPublisher int
	scripts             [article.Scripts]int
	reasons             map[string]int // of dead letters, with an example of the detail
}

// checkInput says which scripts the last records of the input topics are in, and how many have no word. If a
// topic cannot be read, it says why.
func checkInput(ctx context.Context, cfg config.Config, made *recipe.Recipe) []diag.Finding {
	s := inputSample{reasons: map[string]int{}}
	if err := s.read(ctx, cfg, made); err != nil {
		return []diag.Finding{skipped("input", err.Error())}
	}
	return s.findings()
}

func (s *inputSample) read(ctx context.Context, cfg config.Config, made *recipe.Recipe) error {
	archive, err := tools.NewArchive(cfg.Kafka, cfg.Kafka.Topics.Inputs...)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, topic := range cfg.Kafka.Topics.Inputs {
		partitions, err := archive.Partitions(ctx, topic)
		if err != nil {
			return err
		}
		for p := range int32(min(partitions, samplePartitions)) {
			offsets, err := archive.Offsets(ctx, topic, p)
			if err != nil {
				return err
			}
			from := article.Coordinates{Topic: topic, Partition: p, Offset: max(offsets.First, offsets.Next-sampleRecords)}
			if err := archive.Read(ctx, from, offsets.Next, func(r *record.Record) error {
				if r.Value != nil { // else a tombstone, or too large
					s.add(cfg.Input.Config, made, r)
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *inputSample) add(input decode.Config, made *recipe.Recipe, r *record.Record) {
	content, reject := input.Decode(r)
	if reject.IsDeletion() {
		return
	}
	s.records++
	var a article.Article
	if reject == nil {
		a, _ = made.Fingerprint(content.Text, content.Origin(r.Time))
		reject = record.NoArticle(&a)
	}
	switch {
	case reject != nil:
		s.dead++
		s.reasons[reject.Error()]++
		return
	case a.Features == 0:
		s.noWords++
	}
	s.scripts[a.Script]++
	if content.ID == r.String() && content.URL == "" {
		s.noPage++
	}
	if article.PublisherOf(content.Publisher, content.URL) == "" {
		s.noPublisher++
	}
}

func (s *inputSample) findings() []diag.Finding {
	if s.records == 0 {
		return nil
	}
	parts := []string{"of the last " + visible.Count(s.records, "record")}
	for script := range article.Scripts {
		if n := s.scripts[script]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d in script %s", n, script))
		}
	}
	parts = append(parts, fmt.Sprintf("%d with neither id nor address, %d without a publisher, %d without a word, %d "+
		"would be dead letters", s.noPage, s.noPublisher, s.noWords, s.dead))
	f := diag.Finding{Severity: diag.Warning, Subject: "input", Problem: strings.Join(parts, ", ")}
	switch {
	case float64(s.dead) >= mostlyDead*float64(s.records):
		f.Severity = diag.Failure
		f.Problem += ", most of them for: " + slices.MaxFunc(slices.Sorted(maps.Keys(s.reasons)),
			func(a, b string) int { return cmp.Compare(s.reasons[a], s.reasons[b]) })
		f.Remedy = "correct the producer, or input.format and input.fields.text"
	case float64(s.noWords+s.dead) >= manyWithout*float64(s.records):
		f.Remedy = "check input.format and input.fields.text, and read some of these records"
	case 2*s.noPage > s.records:
		f.Remedy = "send the id of the page as id (input.fields.id), else new versions of a page are dropped as copies"
	case 2*s.noPublisher > s.records:
		f.Remedy = "send the publisher or the address (input.fields.publisher, input.fields.url), else follow-ups of one " +
			"publisher are dropped as copies"
	default:
		f.Severity = diag.OK
	}
	return []diag.Finding{f}
}
