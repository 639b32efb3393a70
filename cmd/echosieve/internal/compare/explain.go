package compare

import (
	"fmt"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
)

// explain sets Verdict, one word, and Explanation, one sentence. Where the rule decided, both follow from its row.
func (c *Comparison) explain(j article.Judgement, rule *evidence.Rule) {
	c.Verdict = "different"
	if j.Kind != 0 {
		c.Verdict = j.Kind.String()
	}
	var why string
	switch j.Reason {
	case article.ReasonDigest:
		c.Explanation = "Exact copy: after cleaning, and apart from spaces and punctuation, the texts are the same."
		return
	case article.ReasonNone:
		c.Verdict = "empty"
		c.Explanation = "No verdict: cleaning leaves no letter and no digit, so the record becomes a dead letter."
		return
	case article.ReasonUnknown:
		why = "there is no signature to compare."
	case article.ReasonLittle:
		why = "of a text with so few different words only the same text is a copy."
	default:
		why = c.decided(j, rule)
	}
	why += relationSentence(j.Relation)
	switch j.Kind {
	case article.Near:
		c.Explanation = "Near copy: " + why
	case article.Possible:
		c.Explanation = "Possibly a copy, published as unique with a mark: " + why
	default:
		c.Explanation = "Not a copy: " + why
	}
	if j.Kind == article.Near && c.Topic != article.ToDuplicate.String() {
		c.Explanation += fmt.Sprintf(" The policy sends it to the topic %s.", c.Topic)
	}
	if j.Kind.IsCopy() && !c.Found {
		c.Explanation += " But the service would not notice: its look-ups do not find one from the other " +
			"(detection.probes, detection.anchors)."
	}
}

// decided says which row of the rule decided, and by which figure. Beyond the reach of look-ups no row is asked.
func (c *Comparison) decided(j article.Judgement, rule *evidence.Rule) string {
	row, figure, with := rule.Explain(c.Distance, c.compared)
	switch {
	case c.Distance > c.MaxDistance || row == nil:
		return fmt.Sprintf("the fingerprints differ in %d bits, at most %d are allowed (detection.max_distance).",
			c.Distance, c.MaxDistance)
	case row.Reason != j.Reason:
		return fmt.Sprintf("the fingerprints differ in %d bits; at this distance the service compares only texts "+
			"that share an anchor (detection.anchors).", c.Distance)
	}
	why := row.Says + " (" + newFigure(figure).String() + ")."
	if with != "" {
		why = row.Says + " (" + newFigure(figure).String() + " with " + with + ")."
	}
	return why
}

// relationSentence says what B is to A.
func relationSentence(r article.Relation) string {
	switch r {
	case article.Equal:
		return " Neither has words of its own to speak of."
	case article.Contained:
		return " B is contained in A."
	case article.Extends:
		return " B contains A and has more."
	case article.Revises:
		return " B revises A: both have the same id, or B corrects a figure of A."
	case article.Overlaps:
		return " Each has words that the other lacks."
	default:
		return ""
	}
}
