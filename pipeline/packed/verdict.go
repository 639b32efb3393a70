package packed

import (
	"encoding/binary"

	"echosieve/pipeline/article"
)

// Layout of a verdict. That of Unique is one byte, the kind. All others are
//
//	kind with destination and flag, distance, reason with relation, similarity, contained, contains, original, root
//
// each of one byte, except for the last two (see appendRelative). The root of a possible copy is left out,
// and that of a copy whose root is the original, which most are: then the flag is set.
//
// Example: a copy in its original's topic, whose original has an id of 12 bytes and an offset of 3, takes 24
// bytes: 6, 1 for the topic, 1 for the partition, 3 for the offset, 1 and 12 for the id.
const (
	rootIsOriginal = 1 << 7
	destinationAt  = 3 // bits above the kind
	relationAt     = 5 // bits above the reason
)

// AppendVerdict encodes the verdict of the article self.
func AppendVerdict(dst []byte, v article.Verdict, self article.Ref) []byte {
	if v.Kind == article.Unique {
		return append(dst, byte(v.Kind))
	}
	copied := v.Kind.IsCopy()
	head := byte(v.Kind) | byte(v.Destination)<<destinationAt
	if copied && v.Root == v.Original {
		head |= rootIsOriginal
	}
	dst = append(dst, head, byte(v.Distance), byte(v.Reason)|byte(v.Relation)<<relationAt,
		byte(v.Similarity), byte(v.Contained), byte(v.Contains))
	dst = appendRelative(dst, v.Original, self)
	if copied && v.Root != v.Original {
		dst = appendRelative(dst, v.Root, self)
	}
	return dst
}

// DecodeVerdict decodes the verdict of the article self. It reports whether the bytes are a verdict.
func DecodeVerdict(data []byte, self article.Ref) (article.Verdict, bool) {
	if len(data) == 1 && article.Kind(data[0]) == article.Unique {
		return article.Verdict{Kind: article.Unique, Root: self}, true
	}
	if len(data) < 6 {
		return article.Verdict{}, false
	}
	v := article.Verdict{
		Kind:        article.Kind(data[0] & (1<<destinationAt - 1)),
		Destination: article.Destination(data[0] &^ rootIsOriginal >> destinationAt),
		Distance:    int(data[1]), Reason: article.Reason(data[2] & (1<<relationAt - 1)),
		Likeness: article.Likeness{
			Relation: article.Relation(data[2] >> relationAt), Similarity: article.Share(data[3]),
			Contained: article.Share(data[4]), Contains: article.Share(data[5]),
		},
	}
	copied, direct := v.Kind.IsCopy(), data[0]&rootIsOriginal != 0
	if !copied && (v.Kind != article.Possible || direct) || !v.Destination.OfVerdict() {
		return article.Verdict{}, false
	}
	d := Decoder{Data: data[6:]}
	v.Original = d.relative(self)
	switch {
	case !copied:
		v.Root = self
	case direct:
		v.Root = v.Original
	default:
		v.Root = d.relative(self)
	}
	if d.Bad || len(d.Data) != 0 {
		return article.Verdict{}, false
	}
	return v, true
}

// appendRelative encodes what r has other than self. The length of the topic is one more than it is, and 0
// stands for the topic of self. The length of the id is two more, 0 stands for the coordinates of r in place
// of an id, and 1 for the id of self.
func appendRelative(dst []byte, r, self article.Ref) []byte {
	if r.Topic == self.Topic {
		dst = append(dst, 0)
	} else {
		dst = append(binary.AppendUvarint(dst, uint64(len(r.Topic))+1), r.Topic...)
	}
	dst = binary.AppendVarint(dst, int64(r.Partition))
	dst = binary.AppendVarint(dst, r.Offset)
	switch r.ID {
	case r.String():
		return append(dst, 0)
	case self.ID:
		return append(dst, 1)
	default:
		return append(binary.AppendUvarint(dst, uint64(len(r.ID))+2), r.ID...)
	}
}

// relative decodes what appendRelative encoded.
func (d *Decoder) relative(self article.Ref) article.Ref {
	r := article.Ref{Coordinates: article.Coordinates{Topic: self.Topic}}
	if n := d.Uvarint(); n > 0 {
		r.Topic = string(d.cut(n - 1))
	}
	r.Partition = int32(d.Varint())
	r.Offset = d.Varint()
	switch n := d.Uvarint(); n {
	case 0:
		r.ID = r.String()
	case 1:
		r.ID = self.ID
	default:
		r.ID = string(d.cut(n - 2))
	}
	return r
}
