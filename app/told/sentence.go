package told

import (
	"fmt"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
)

// Says is the reason of a verdict as a part of a sentence; empty: it has none.
func Says(kind article.Kind, reason article.Reason) string {
	switch reason {
	case article.ReasonDigest:
		return "after cleaning, and apart from spaces and punctuation, the texts are the same"
	case article.ReasonDistance: // of classic recipes
		return "the fingerprints are near enough"
	}
	for _, row := range evidence.Rows() {
		if row.Kind == kind && row.Reason == reason {
			return row.Says
		}
	}
	return ""
}

// explain returns one sentence. Where the rule decided, it follows from the row.
func (t *Judge) explain(c *Comparison, j article.Judgement) string {
	var why string
	switch j.Reason {
	case article.ReasonDigest:
		return "Exact copy: " + Says(j.Kind, j.Reason) + "."
	case article.ReasonNone:
		return "No verdict: cleaning leaves no letter and no digit, so the record becomes a dead letter."
	case article.ReasonUnknown:
		why = "there is no signature to compare."
	case article.ReasonLittle:
		why = "of a text with so few different words only the same text is a copy."
	default:
		why = t.decided(c, j)
	}
	why += relations[j.Relation]
	switch j.Kind {
	case article.Near:
		why = "Near copy: " + why
		if c.Topic != article.ToDuplicate.String() {
			why += fmt.Sprintf(" The policy sends it to the topic %s.", c.Topic)
		}
	case article.Possible:
		why = "Possibly a copy, published as unique with a mark: " + why
	default:
		why = "Not a copy: " + why
	}
	if j.Kind.IsCopy() && !c.Found {
		why += " But the service would not notice: its look-ups do not find one from the other " +
			"(detection.probes, detection.anchors)."
	}
	return why
}

// decided says which row of the rule decided, and by which figure. Beyond the reach of look-ups no row is asked.
func (t *Judge) decided(c *Comparison, j article.Judgement) string {
	row, decider, with := t.rule.Explain(c.Distance, c.compared)
	switch {
	case c.Distance > t.index.MaxDistance || row == nil:
		return fmt.Sprintf("the fingerprints differ in %d bits, at most %d are allowed.",
			c.Distance, t.index.MaxDistance)
	case row.Reason != j.Reason:
		return fmt.Sprintf("the fingerprints differ in %d bits; at this distance the service compares only texts "+
			"that share an anchor (detection.anchors).", c.Distance)
	}
	figure := decider.String()
	if with != "" {
		figure += " with " + with
	}
	return row.Says + " (" + figure + ")."
}

// relations says what B is to A.
var relations = map[article.Relation]string{
	article.Equal:     " Neither has words of its own to speak of.",
	article.Contained: " B is contained in A.",
	article.Extends:   " B contains A and has more.",
	article.Revises:   " B revises A: both have the same id, or B corrects a figure of A.",
	article.Overlaps:  " Each has words that the other lacks.",
}
