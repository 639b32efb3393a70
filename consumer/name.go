package consumer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"
)

// name is what a member's client id says of its process: echosieve/<host name>/<listener>/<index>/<start>.
//
// A process that is killed does not leave the group, which would wait a session timeout for it. The next process of
// its name need not: it takes it out. Nobody stores that the former one is dead, so both may be wrong about each
// other. On one host they are not: only one of them can have the listener. On two hosts of one name the former
// one joins again, and then the one that started later ends with an error.
type name struct {
	process string // host name and listener
	index   string // the index in which the process decides, see admit; it may be empty
	start   int64  // when the process started, in nanoseconds since 1970
}

// NewName returns a name for NameMember. This process has opened the listener, and decides in the index, a word;
// empty: it decides nothing. Call it once in a process.
func NewName(listener, index string) string {
	host, _ := os.Hostname() // unknown: the listener alone is the name
	return strings.Join([]string{
		broker.ClientID, strings.ReplaceAll(host, "/", "_"), listener, index,
		strconv.FormatInt(time.Now().UnixNano(), 36),
	}, "/")
}

// NameMember gives this process a name in the group. It may be called once, before Run. Without a name it takes no
// former member out.
func (c *Consumer) NameMember(name string) { c.member, c.cluster.Dialer.ClientID = name, name }

// nameOf is not ok if the member has no name, or is another program.
func nameOf(clientID string) (n name, ok bool) {
	words := strings.Split(clientID, "/")
	if len(words) != 5 || words[0] != broker.ClientID {
		return name{}, false
	}
	start, err := strconv.ParseInt(words[4], 36, 64)
	return name{process: words[1] + "/" + words[2], index: words[3], start: start}, err == nil
}

// began is the time of the process' start.
func (n name) began() string { return time.Unix(0, n.start).UTC().Format(time.RFC3339) }

// former returns the members of the group that had this process' name before it.
func (c *Consumer) former(members []wire.Member) (former []wire.Member) {
	mine, ok := nameOf(c.member)
	for _, m := range members {
		if n, is := nameOf(m.ClientID); ok && is && n.process == mine.process && n.start < mine.start {
			former = append(former, m)
		}
	}
	return former
}

// checkMembers looks at the other members of a group generation, before this process decides in it. It ends Run with an
// error if one of them has this process' name: it lives. It ends the membership if another index decides.
func (c *Consumer) checkMembers(ctx context.Context, committed []broker.Commit) error {
	mine, named := nameOf(c.member)
	if !named {
		return nil
	}
	members, err := c.cluster.Members(ctx, c.cfg.Group)
	if err != nil {
		return err
	}
	c.sayStrangers(members)
	twins := c.former(members)
	if len(twins) == 0 {
		if c.stepsBack(members, committed) {
			return errOtherIndex
		}
		return nil
	}
	own := ""
	if i := c.self(members); i >= 0 {
		own = members[i].Host
	}
	other, _ := nameOf(twins[0].ClientID)
	err = fmt.Errorf("consumer: two processes of group %s have the name %s: one at %s, started %s, and this one at %s, "+
		"started %s, which ends: give one of them another host name or another port in http.listen",
		c.cfg.Group, mine.process, twins[0].Host, other.began(), own, mine.began())
	c.fail(err)
	return err
}

const warnStrangers = "group"

// sayStrangers warns that programs other than Echosieve are members of the group: they get partitions, and what they
// commit counts.
func (c *Consumer) sayStrangers(members []wire.Member) {
	text := ""
	if others := broker.Strangers(members); len(others) > 0 {
		text = fmt.Sprintf("programs other than Echosieve use group %s: %s; give them, or kafka.group here, a group of "+
			"its own", c.cfg.Group, strings.Join(others, ", "))
		c.log.Warn("the group is shared", "why", text)
	}
	c.warn(warnStrangers, text)
}

// self returns where this process is among the members; -1: it is not.
func (c *Consumer) self(members []wire.Member) int {
	return slices.IndexFunc(members, func(m wire.Member) bool { return m.ClientID == c.member })
}

const (
	// joinInterval is the time between two looks at a group that this process joins.
	joinInterval = 200 * time.Millisecond
	// joinPatience is how long a group may take to assign partitions before the process says that it waits.
	joinPatience = time.Second
	warnJoin     = "join"
)

// watchJoins says what this process waits for while it has no partitions, and takes former members of its name out
// of the group at the start, until ctx ends.
//
// It does so only when the group has the new member: brokers make the first member of an empty group wait for others
// (group.initial.rebalance.delay.ms, 3 s by default).
func (c *Consumer) watchJoins(ctx context.Context) {
	var since time.Time // zero: this process is not joining
	_, named := nameOf(c.member)
	replaced, said := !named, false
	for stopping.Wait(ctx, joinInterval) == nil {
		if !c.joining.Load() {
			if said {
				c.warn(warnJoin, "")
			}
			since, replaced, said = time.Time{}, !named, false
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		late := time.Since(since) >= joinPatience
		if replaced && (said || !late) {
			continue
		}
		members, err := c.cluster.Members(ctx, c.cfg.Group)
		if err != nil {
			continue // joining reports it
		}
		if !replaced && c.self(members) >= 0 {
			replaced = c.replace(ctx, members)
		}
		if late && !said {
			said = true
			c.sayAwaited(members, since)
		}
	}
}

// replace takes former members of this process' name out of the group, and says whether that is done.
func (c *Consumer) replace(ctx context.Context, members []wire.Member) bool {
	for _, m := range c.former(members) {
		if err := c.leave(ctx, m.ID); err != nil {
			c.log.Debug("a former member of this name could not be taken out", "group", c.cfg.Group, "err", err)
			return false
		}
		c.log.Info("took the former process of this name out of the group", "group", c.cfg.Group, "member", m.ID,
			"host", m.Host)
	}
	return true
}

func (c *Consumer) sayAwaited(members []wire.Member, since time.Time) {
	others := make([]string, 0, len(members))
	for _, m := range members {
		if m.ClientID != c.member {
			others = append(others, m.ID)
		}
	}
	const shown = 5
	text := fmt.Sprintf("no partitions since %s: group %s waits for its other members, and leaves out one that is silent "+
		"for its session timeout (%s here); it has %d: %s", since.UTC().Format(time.RFC3339), c.cfg.Group,
		c.cfg.SessionTimeout, len(others), strings.Join(others[:min(shown, len(others))], ", "))
	c.log.Info("waiting for partitions", "why", text)
	c.warn(warnJoin, text)
}
