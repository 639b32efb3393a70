package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"echosieve/app/inquiry"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
)

// verdict is what a side says of one input record, in 32 bytes, so that millions of them fit into memory.
type verdict struct {
	offset   int64  // of the input record
	original int64  // offset
	place    uint32 // topic and partition of the input record, as numbered by places
	at       uint32 // topic and partition of the original
	root     uint32 // hash of the root's coordinates
	kind     article.Kind
	reason   article.Reason
}

// dead is the kind of a dead letter in this package. article knows none.
const dead article.Kind = 0

func (v verdict) compare(w verdict) int {
	return cmp.Or(cmp.Compare(v.place, w.place), cmp.Compare(v.offset, w.offset))
}

func (v *verdict) outcome() outcome {
	o := outcome{Verdict: kindName(v.kind)}
	if v.reason != article.ReasonNone {
		o.Reason = v.reason.String()
	}
	return o
}

// places numbers topics with partitions, as coordinates without an offset.
type places struct {
	numbers map[article.Coordinates]uint32
	list    []article.Coordinates
}

func (p *places) number(c article.Coordinates) uint32 {
	c.Offset = 0
	n, known := p.numbers[c]
	if !known {
		n = uint32(len(p.list))
		p.numbers[c] = n
		p.list = append(p.list, c)
	}
	return n
}

func (p *places) coordinates(number uint32, offset int64) article.Coordinates {
	c := p.list[number]
	c.Offset = offset
	return c
}

// side is one of the two sides. Its JSON names must not change.
type side struct {
	Name     string         `json:"name"`
	Records  int            `json:"records"`  // with a verdict
	Repeated int            `json:"repeated"` // outputs of records that were delivered again
	Kinds    map[string]int `json:"kinds"`    // verdicts by kind

	verdicts []verdict // by record
}

type loader struct {
	reader *inquiry.Reader
	places places
	since  time.Time
	most   int // verdicts of a side
}

// load reads a side: topics, with commas between them.
func (l *loader) load(ctx context.Context, name string) (*side, error) {
	s := &side{Name: name, Kinds: map[string]int{}}
	add := func(o *inquiry.Output) error {
		if len(s.verdicts) == l.most {
			return fmt.Errorf("%s has more than %d verdicts; read fewer with --since, or allow more with --most "+
				"(32 bytes of memory each)", name, l.most)
		}
		s.verdicts = append(s.verdicts, l.verdict(o))
		return nil
	}
	for part := range strings.SplitSeq(name, ",") {
		if part == "" {
			return nil, fmt.Errorf("a name is missing in %q; put commas, without spaces, between topics", name)
		}
		if err := l.reader.Each(ctx, part, l.since, add); err != nil {
			return nil, err
		}
	}
	all := len(s.verdicts)
	slices.SortFunc(s.verdicts, verdict.compare)
	s.verdicts = slices.CompactFunc(s.verdicts, func(v, w verdict) bool { return v.compare(w) == 0 })
	s.Records, s.Repeated = len(s.verdicts), all-len(s.verdicts)
	for i := range s.verdicts {
		s.Kinds[kindName(s.verdicts[i].kind)]++
	}
	return s, nil
}

func kindName(k article.Kind) string {
	if k == dead {
		return "dead"
	}
	return k.String()
}

func (l *loader) verdict(o *inquiry.Output) verdict {
	v := verdict{offset: o.Input.Offset, place: l.places.number(o.Input)}
	if o.Reject != nil {
		return v
	}
	v.kind, v.reason = o.Verdict.Kind, o.Verdict.Reason
	if v.kind != article.Unique {
		v.original, v.at = o.Verdict.Original.Offset, l.places.number(o.Verdict.Original.Coordinates)
	}
	root := o.Verdict.Root.Coordinates
	v.root = mix(l.places.number(root), root.Offset)
	return v
}

// mix hashes coordinates. Of four billion pairs of different roots, one is taken for the same.
func mix(place uint32, offset int64) uint32 {
	h := (uint64(offset) ^ uint64(place)<<40) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// addTexts completes samples with their texts, which it reads at the coordinates of the input records. Verdicts of a
// shadow have no values. It ends with the first error of Kafka.
func (l *loader) addTexts(ctx context.Context, result *comparison) {
	for i := range result.Changes {
		for k := range result.Changes[i].Samples {
			if err := l.addText(ctx, &result.Changes[i].Samples[k]); err != nil && !errors.Is(err, tools.ErrNoRecord) {
				result.Notes = append(result.Notes, "samples have no texts: "+err.Error())
				return
			}
		}
	}
}

func (l *loader) addText(ctx context.Context, x *sample) error {
	at, original := l.places.coordinates(x.a.place, x.a.offset), article.Coordinates{}
	x.Record = at.String()
	for _, side := range []struct {
		verdict *verdict
		name    *string
	}{{&x.a, &x.OriginalA}, {&x.b, &x.OriginalB}} {
		if side.verdict.kind != article.Unique && side.verdict.kind != dead {
			original = l.places.coordinates(side.verdict.at, side.verdict.original)
			*side.name = original.String()
		}
	}
	later, err := l.reader.Article(ctx, article.Ref{Coordinates: at})
	x.Title, x.Gone = later.Title, later.Gone
	if err != nil || later.Gone != "" || original.Topic == "" {
		return err
	}
	earlier, err := l.reader.Article(ctx, article.Ref{Coordinates: original})
	if x.Gone = earlier.Gone; x.Gone == "" {
		x.Texts = inquiry.Align(&earlier, &later)
	}
	return err
}
