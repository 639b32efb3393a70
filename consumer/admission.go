package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
)

// The processes of a group decide in one index. In two, they would not see each other's articles, and copies would
// pass. So a process joins the group only while no member decides in another index (admit), after it has stored what
// others have decided. Two that join at once find each other in the group generation, before either decides: the one
// whose index the latest commit names goes on, and the other leaves the group (stepBack) and waits.
//
// A member says its index in its name. Of members that do not, the latest commit tells whose they are.

// admitInterval is the time between two looks at the group while another index decides.
const admitInterval = 500 * time.Millisecond

// errOtherIndex ends this process' membership, until it is admitted again.
var errOtherIndex = errors.New("another index decides in the group")

// admit returns nil when this process may join the group, and an error only when ctx ends.
func (c *Consumer) admit(ctx context.Context) error {
	if c.labels == nil {
		return nil
	}
	said := ""
	say := func(why string) {
		if why != said {
			c.reporter.Waits(broker.OpJoin, c.cfg.Group, diag.Waits(why))
		}
		said = why
	}
	for {
		admitted, err := c.admitOnce(ctx, say)
		switch {
		case admitted:
			c.reporter.OK(broker.OpJoin, c.cfg.Group)
			return nil
		case err != nil && ctx.Err() == nil:
			c.reporter.Failed(broker.OpJoin, c.cfg.Group, fmt.Errorf("consumer: join group %s: %w", c.cfg.Group, err))
		}
		if err := stopping.Wait(ctx, admitInterval); err != nil {
			return err
		}
	}
}

func (c *Consumer) admitOnce(ctx context.Context, say func(string)) (admitted bool, err error) {
	committed, err := c.committed(ctx)
	if err != nil {
		return false, err
	}
	members, err := c.cluster.Members(ctx, c.cfg.Group)
	if err != nil {
		return false, err
	}
	labels := broker.IndexLabels(committed)
	if other := c.decidesElsewhere(members, labels, false); other != "" {
		say(other)
		return false, nil
	}
	c.admitted = labels
	lacked, err := c.labels.CatchUp(ctx, labels, say)
	return !lacked && err == nil, err // after a time that took, look again
}

// stepsBack says whether this process may not decide in the group generation that it has joined. Then it ends its
// membership.
func (c *Consumer) stepsBack(members []wire.Member, committed []broker.Commit) bool {
	if c.labels == nil {
		return false
	}
	labels := broker.IndexLabels(committed)
	why := c.decidesElsewhere(members, labels, true)
	if mine, _ := c.labels.Decider(labels); why == "" && !mine && !sameOffsets(labels, c.admitted) {
		why = "another index has decided since this process asked to join"
	}
	if why == "" {
		return false
	}
	c.log.Warn("leaving the group again", "group", c.cfg.Group, "because", why)
	c.stepBack()
	return true
}

// sameOffsets says whether the labels stand beside the same offsets.
func sameOffsets(a, b map[article.Coordinates]string) bool {
	for at := range a {
		if _, same := b[at]; !same {
			return false
		}
	}
	return true
}

// decidesElsewhere says in words why this process may not decide beside these members; "": it may. joined says that
// this process is one of them.
func (c *Consumer) decidesElsewhere(members []wire.Member, labels map[article.Coordinates]string, joined bool) string {
	self, _ := nameOf(c.member)
	mine, differs := c.labels.Decider(labels)
	if mine {
		return ""
	}
	former := c.former(members)
	for _, m := range members {
		n, _ := nameOf(m.ClientID)
		switch {
		case m.ClientID == c.member, slices.Contains(former, m): // this process takes former ones out
			continue
		case n.index == self.index, n.index == "" && differs == "":
			continue
		case joined && differs == "" && self.start < n.start: // nobody has decided: the first goes on
			continue
		}
		if differs != "" {
			differs = " (" + differs + ")"
		}
		return fmt.Sprintf("another recipe or layout decides in group %s%s: stop %s at %s, or give this process its settings",
			c.cfg.Group, differs, m.ID, m.Host)
	}
	return ""
}
