package article

import (
	"errors"
	"fmt"
)

// Destination is an output topic. The numbers of those that a verdict sends its article to are stored and never change.
type Destination uint8

// The destinations.
const (
	ToUnique Destination = iota
	ToPossible
	ToDuplicate
	ToDead           // of dead letters
	ToShadow         // the only output topic of a shadow
	DestinationCount // number of output topics
)

var destinationNames = [DestinationCount]string{"unique", "possible", "duplicate", "dead", "shadow"}

// VerdictDestinations returns the destinations of verdicts, in the order of their numbers.
func VerdictDestinations() []Destination { return []Destination{ToUnique, ToPossible, ToDuplicate} }

// OfVerdict says whether a verdict of this version can have the destination.
func (d Destination) OfVerdict() bool { return d <= ToDuplicate }

// String returns the destination as it stands in settings and metrics. d must be below DestinationCount.
func (d Destination) String() string { return destinationNames[d] }

// Policy chooses the topic of near copies by their relation to the original. Each text is the name of a
// Destination; "" means duplicate. A Policy changes no verdict otherwise, so it is not part of the recipe id.
type Policy struct {
	Contained string `setting:"contained"`
	Extends   string `setting:"extends"`
	Revises   string `setting:"revises"`
	Overlaps  string `setting:"overlaps"`
	SameID    string `setting:"same_id"`
}

// longer is the share that the original has at most of an article that extends it, in percent.
const longer Share = 49

// DefaultPolicy publishes longer versions: a later article that contains an earlier one, and more than as
// much again of its own, is news to its readers. It publishes corrections, and sends every other copy to the
// duplicate topic.
func DefaultPolicy() Policy {
	name := ToDuplicate.String()
	return Policy{Contained: name, Extends: ToUnique.String(), Revises: ToUnique.String(), Overlaps: name,
		SameID: name}
}

// Validate returns all mistakes, joined; each begins with the key of the setting.
func (p Policy) Validate() error {
	var errs []error
	for _, f := range []struct{ key, value string }{
		{"contained", p.Contained}, {"extends", p.Extends}, {"revises", p.Revises}, {"overlaps", p.Overlaps},
		{"same_id", p.SameID},
	} {
		if f.value != ToDuplicate.String() && destination(f.value) == ToDuplicate {
			errs = append(errs, fmt.Errorf("%s is %q, must be duplicate, unique or possible", f.key, f.value))
		}
	}
	return errors.Join(errs...)
}

// Destination returns the topic of an article whose original was judged as j. An exact copy is always a
// duplicate: an exact repeat of an article in its slice stores no verdict, so a destination by policy could
// change when the repeat is delivered again.
func (p Policy) Destination(j Judgement) Destination {
	switch {
	case j.Kind == Possible:
		return ToPossible
	case !j.Kind.IsCopy():
		return ToUnique
	case j.Kind == Exact:
		return ToDuplicate
	case j.Corrects:
		return destination(p.Revises)
	case j.SameID:
		return destination(p.SameID)
	}
	switch j.Relation {
	case Contained:
		return destination(p.Contained)
	case Extends:
		if j.Contained <= longer {
			return destination(p.Extends)
		}
	case Revises:
		return destination(p.Revises)
	case Overlaps:
		return destination(p.Overlaps)
	}
	return ToDuplicate
}

// destination returns the destination of a name, ToDuplicate of any other text.
func destination(name string) Destination {
	for _, d := range VerdictDestinations() {
		if d.String() == name {
			return d
		}
	}
	return ToDuplicate
}
