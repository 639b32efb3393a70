package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

// OutputConfig says where an output states its verdict.
type OutputConfig struct {
	Verdict string `setting:"verdict"`
}

// The values of OutputConfig.Verdict.
const (
	VerdictInHeaders = "headers"
	VerdictInValue   = "value"
)

// DefaultOutputConfig states verdicts in headers only.
func DefaultOutputConfig() OutputConfig { return OutputConfig{VerdictInHeaders} }

// memberName is the name of the member that JSON objects get.
const memberName = "echosieve"

// Validate returns the first mistake, with its key first. Values that the settings of the input describe must
// be JSON objects if a member is to be added to them, and must not keep the article in that member.
func (c OutputConfig) Validate(in decode.Config) error {
	if c.Verdict != VerdictInHeaders && c.Verdict != VerdictInValue {
		return fmt.Errorf("verdict: %q is not one of headers, value", c.Verdict)
	}
	if c.Verdict == VerdictInHeaders {
		return nil
	}
	for _, f := range []struct {
		ok        bool
		key, have string
	}{
		{in.Format == decode.FormatJSON, "format", in.Format},
		{in.Framing == decode.FramingNone, "framing", in.Framing},
		{in.Preset == "", "preset", in.Preset},
	} {
		if !f.ok {
			return fmt.Errorf("verdict: value adds a member to plain JSON objects, and input.%s is %s: "+
				"leave output.verdict at headers", f.key, f.have)
		}
	}
	for _, path := range in.Fields.Paths() {
		first, _, _ := strings.Cut(path, ".")
		if gjson.Get(`{"`+memberName+`":1}`, first).Exists() {
			return fmt.Errorf("member: %s would replace the field %s of input.fields: choose another name", memberName, path)
		}
	}
	return nil
}

// Member is what an output says of its article, as a member of the article's JSON object. Its JSON names are
// those of the headers and must not change.
type Member struct {
	Verdict string `json:"verdict"`          // unique, possible, near, exact or dead
	Reason  string `json:"reason,omitempty"` // the test that decided, or why the record is a dead letter
	Detail  string `json:"detail,omitempty"` // of a dead letter
	Topic   string `json:"topic"`            // unique, possible, duplicate or dead
	Match
	LeftOut float64 `json:"left_out,omitempty"` // share of the text
	Record  string  `json:"record"`             // coordinates of the input
}

// Match is what a Member says of a copy or possible copy and its original. It is zero for other articles.
type Match struct {
	Relation   string     `json:"relation,omitempty"` // to the original, as are the shares
	Similarity float64    `json:"similarity,omitempty"`
	Contained  float64    `json:"contained,omitempty"`
	Contains   float64    `json:"contains,omitempty"`
	Distance   *int       `json:"distance,omitempty"` // from the original, in bits
	Original   *MemberRef `json:"original,omitempty"`
	Root       *MemberRef `json:"root,omitempty"` // of a copy
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
	// dead letters, tombstones and releases have a reason, too
	if v.Kind != article.Unique || v.Root == (article.Ref{}) || o.Reason == reasonReleased {
		m.Reason = o.Reason
	}
	if v.HasOriginal() {
		m.Match = newMatch(*v)
	}
	return m
}

func newMatch(v article.Verdict) Match {
	m := Match{
		Similarity: v.Similarity.Float(), Contained: v.Contained.Float(), Contains: v.Contains.Float(),
		Distance: &v.Distance, Original: &MemberRef{v.Original.ID, v.Original.String()},
	}
	if v.Kind.IsCopy() {
		m.Root = &MemberRef{v.Root.ID, v.Root.String()}
	}
	if v.Relation != article.RelationNone {
		m.Relation = v.Relation.String()
	}
	return m
}

// AppendTo appends the JSON object to dst, with m as its last member. Members of its name are left out; all other bytes
// stay, but those that are no UTF-8 become U+FFFD: else the line is no JSON for others. A value that is no valid object,
// such as a damaged line, becomes the text of a member "value".
func (m *Member) AppendTo(dst, object []byte) []byte {
	if object == nil {
		object = []byte("{}")
	}
	if !decode.IsObject(object) {
		object, _ = json.Marshal(map[string]string{"value": string(object)})
	}
	return m.appendToObject(dst, object)
}

// appendToObject is AppendTo for a value that is a valid object.
func (m *Member) appendToObject(dst, object []byte) []byte {
	raw, _ := decode.AppendJSON(nil, map[string]*Member{memberName: m}) // texts, and numbers that JSON has
	if !utf8.Valid(object) {
		object = bytes.ToValidUTF8(object, []byte(replacement))
	}
	start := len(dst)
	if dst = decode.AppendWithout(dst, object, memberName); len(dst) > start+len("{") {
		dst = append(dst, ',')
	}
	return append(dst, raw[len("{"):]...)
}

// replacement stands for bytes that are no UTF-8.
const replacement = "\ufffd"

// repaired returns by how many bytes a value gets longer because it is not in UTF-8.
func (p *Pipeline) repaired(r *record.Record) int {
	if !p.cfg.Member || utf8.Valid(r.Value) {
		return 0
	}
	return max(0, len(bytes.ToValidUTF8(r.Value, []byte(replacement)))-len(r.Value))
}

// addMember adds the verdict to the value, if the settings say so. A value that is no JSON object, because it is
// compressed, stays as it is. A value with an article was read as JSON before: one that begins as an object is one.
func (p *Pipeline) addMember(o *Output) {
	value := o.Value
	read := o.Verdict.Kind != 0 && bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("{"))
	if !p.cfg.Member || !read && !decode.IsObject(value) {
		return
	}
	if !utf8.Valid(value) {
		p.metrics.notUTF8.Inc()
	}
	m := o.Member()
	o.Value = m.appendToObject(make([]byte, 0, len(value)+512), value)
}

// maxMemberBytes is an upper bound of the bytes by which a member lengthens a value: the length of
// one in which every text is as long as it can be. JSON writes a control character with six bytes.
func maxMemberBytes() int {
	at := strings.Repeat("t", maxCoordinatesBytes)
	ref := &MemberRef{ID: strings.Repeat("\x01", article.MaxIDBytes), Record: at}
	const number = 0.123456789012345678 // the longest form
	distance := 64
	longest := strings.Repeat("x", 32) // names of verdicts, reasons, topics and relations are shorter
	m := Member{
		Verdict: longest, Reason: longest, Topic: longest, LeftOut: number, Record: at,
		Match: Match{longest, number, number, number, &distance, ref, ref},
	}
	return len(m.AppendTo(nil, nil))
}
