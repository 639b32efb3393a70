package pipeline

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"echosieve/pipeline/article"
)

// Member is what an output says of its article, as a member of the article's JSON object. Its JSON names are
// those of the headers and must not change.
type Member struct {
	Verdict    string     `json:"verdict"`            // unique, possible, near, exact or dead
	Reason     string     `json:"reason,omitempty"`   // the test that decided, or why the record is a dead letter
	Detail     string     `json:"detail,omitempty"`   // of a dead letter
	Topic      string     `json:"topic"`              // unique, possible, duplicate or dead
	Relation   string     `json:"relation,omitempty"` // to the original, as are the shares
	Similarity float64    `json:"similarity,omitempty"`
	Contained  float64    `json:"contained,omitempty"`
	Contains   float64    `json:"contains,omitempty"`
	Distance   *int       `json:"distance,omitempty"` // from the original, in bits
	Original   *MemberRef `json:"original,omitempty"` // of a copy or possible copy
	Root       *MemberRef `json:"root,omitempty"`     // of a copy
	LeftOut    float64    `json:"left_out,omitempty"` // share of the text
	Record     string     `json:"record"`             // coordinates of the input
}

// MemberRef names another article.
type MemberRef struct {
	ID     string `json:"id"`
	Record string `json:"record"`
}

// Member returns the verdict of the output as a member of its article.
func (o *Output) Member() Member {
	v := &o.Verdict
	m := Member{
		Verdict: o.VerdictName(), Detail: o.Detail, Topic: o.Destination.String(),
		LeftOut: math.Round(100*o.LeftOut) / 100, Record: o.Record.String(),
	}
	if v.Kind != article.Unique || v.Root == (article.Ref{}) { // a dead letter and a tombstone have a reason, too
		m.Reason = o.Reason
	}
	if !v.HasOriginal() {
		return m
	}
	distance := v.Distance
	m.Distance, m.Original = &distance, &MemberRef{v.Original.ID, v.Original.String()}
	if v.Kind.IsCopy() {
		m.Root = &MemberRef{v.Root.ID, v.Root.String()}
	}
	if v.Relation != article.RelationNone {
		m.Relation = v.Relation.String()
	}
	m.Similarity, m.Contained, m.Contains = v.Similarity.Float(), v.Contained.Float(), v.Contains.Float()
	return m
}

// AppendTo appends the JSON object to dst, with m as its last member. Members that have the name already are
// left out; all other bytes stay. A value that is no valid object, such as a damaged line, becomes the text
// of a member "value".
func (m *Member) AppendTo(dst []byte, name string, object []byte) ([]byte, error) {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]*Member{name: m}); err != nil {
		return dst, err
	}
	own := bytes.TrimSpace(raw.Bytes())
	switch {
	case object == nil:
		return append(dst, own...), nil
	case !validObject(object):
		var err error
		if object, err = json.Marshal(map[string]string{"value": string(object)}); err != nil {
			return dst, err
		}
	}
	start := len(dst)
	if dst = appendOthers(dst, object, name); len(dst) > start+len("{") {
		dst = append(dst, ',')
	}
	return append(dst, own[len("{"):]...), nil
}

// appendOthers appends a valid JSON object to dst without its members of a name, and without its end.
func appendOthers(dst, object []byte, name string) []byte {
	text := string(bytes.TrimSpace(object))
	dst = append(dst, '{')
	start, left := len(dst), false
	for at := 1; ; {
		key, rest := cutValue(text[at:])
		if key == "" {
			return dst
		}
		_, rest = cutValue(rest)
		member := text[at : len(text)-len(rest)] // with the comma before it
		at += len(member)
		switch {
		case unquoted(key) == name:
			left = true
		case left && len(dst) == start:
			dst = append(dst, strings.TrimLeft(member, " \t\r\n,")...)
		default:
			dst = append(dst, member...)
		}
	}
}
