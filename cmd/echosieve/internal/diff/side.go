package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"echosieve/app/told"
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

// same says whether two verdicts are about one record.
func (v *verdict) same(w *verdict) bool { return v.place == w.place && v.offset == w.offset }

func (v *verdict) compare(w *verdict) int {
	return cmp.Or(cmp.Compare(v.place, w.place), cmp.Compare(v.offset, w.offset))
}

// places numbers topics with partitions.
type places struct {
	numbers map[place]uint32
	list    []place
}

type place struct {
	topic     string
	partition int32
}

func (p *places) number(c article.Coordinates) uint32 {
	key := place{c.Topic, c.Partition}
	n, known := p.numbers[key]
	if !known {
		n = uint32(len(p.list))
		p.numbers[key] = n
		p.list = append(p.list, key)
	}
	return n
}

func (p *places) coordinates(number uint32, offset int64) article.Coordinates {
	return article.Coordinates{Topic: p.list[number].topic, Partition: p.list[number].partition, Offset: offset}
}

// side is one of the two sides. Its JSON names must not change.
type side struct {
	Name     string         `json:"name"`
	Records  int            `json:"records"`  // with a verdict
	Repeated int            `json:"repeated"` // outputs of records that were delivered again
	Kinds    map[string]int `json:"kinds"`    // verdicts by kind

	verdicts []verdict // by record
}

// loader reads sides.
type loader struct {
	reader *told.Reader
	places places
	since  time.Time
	most   int // verdicts of a side
}

// load reads a side: topics, with commas between them.
func (l *loader) load(ctx context.Context, name string) (*side, error) {
	s := &side{Name: name, Kinds: map[string]int{}}
	add := func(o *told.Output) error {
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
	slices.SortFunc(s.verdicts, func(v, w verdict) int { return v.compare(&w) })
	s.verdicts = slices.CompactFunc(s.verdicts, func(v, w verdict) bool { return v.same(&w) })
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

func (l *loader) verdict(o *told.Output) verdict {
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
