package consumer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// entry decides whether this process may be in the group, beside the other members: by their names and by the labels of
// what was committed.
type entry struct {
	*env
	inputs   *inputs
	labels   *labels
	stepBack func()                         // ends the membership of this process, see admit
	admitted map[article.Coordinates]string // the labels when this process was admitted
	members  atomic.Int64                   // see Consumer.Processes
}

// admit returns nil when this process may join the group, and an error only when ctx ends.
func (e *entry) admit(ctx context.Context) error {
	if e.labels.Labels == nil {
		return nil
	}
	said := ""
	say := func(why string) {
		if why != said {
			e.reporter.Waits(broker.OpJoin, e.cfg.Group, diag.Waits(why))
		}
		said = why
	}
	for {
		admitted, err := e.admitOnce(ctx, say)
		switch {
		case admitted:
			e.reporter.OK(broker.OpJoin, e.cfg.Group)
			return nil
		case err != nil && ctx.Err() == nil:
			e.reporter.Failed(broker.OpJoin, e.cfg.Group, fmt.Errorf("consumer: join group %s: %w", e.cfg.Group, err))
		}
		if err := stopping.Wait(ctx, admitInterval); err != nil {
			return err
		}
	}
}

func (e *entry) admitOnce(ctx context.Context, say func(string)) (admitted bool, err error) {
	committed, err := e.inputs.committed(ctx)
	if err != nil {
		return false, err
	}
	members, err := e.group.Members(ctx)
	if err != nil {
		return false, err
	}
	labels := broker.IndexLabels(committed)
	if other := e.decidesElsewhere(members, labels, false); other != "" {
		say(other)
		return false, nil
	}
	e.admitted = labels
	lacked, err := e.labels.CatchUp(ctx, labels, say)
	return !lacked && err == nil, err // after a time that took, look again
}

// stepsBack says whether this process may not decide in the group generation that it has joined. Then it ends its
// membership.
func (e *entry) stepsBack(members []wire.Member, committed []broker.Commit) bool {
	if e.labels.Labels == nil {
		return false
	}
	labels := broker.IndexLabels(committed)
	why := e.decidesElsewhere(members, labels, true)
	if mine, _ := e.labels.Decider(labels); why == "" && !mine && !sameOffsets(labels, e.admitted) {
		why = "another index has decided since this process asked to join"
	}
	if why == "" {
		return false
	}
	e.log.Warn("leaving the group again", "group", e.cfg.Group, "because", why)
	e.stepBack()
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
func (e *entry) decidesElsewhere(members []wire.Member, labels map[article.Coordinates]string, joined bool) string {
	self, _ := nameOf(e.clientID)
	mine, differs := e.labels.Decider(labels)
	if mine {
		return ""
	}
	former := formerOf(e.clientID, members)
	for _, m := range members {
		n, _ := nameOf(m.ClientID)
		switch {
		case m.ClientID == e.clientID, slices.Contains(former, m): // this process takes former ones out
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
			e.cfg.Group, differs, m.ID, m.Host)
	}
	return ""
}

// checkMembers looks at the other members of a group generation, before this process decides in it. It ends Run with an
// error if one of them has this process' name: it lives. It ends the membership if another index decides.
func (e *entry) checkMembers(ctx context.Context, committed []broker.Commit) error {
	mine, named := nameOf(e.clientID)
	if !named {
		return nil
	}
	members, err := e.group.Members(ctx)
	if err != nil {
		return err
	}
	e.members.Store(int64(len(members)))
	e.sayStrangers(members)
	twins := formerOf(e.clientID, members)
	if len(twins) == 0 {
		if e.stepsBack(members, committed) {
			return errOtherIndex
		}
		return nil
	}
	own := ""
	if i := indexOf(e.clientID, members); i >= 0 {
		own = members[i].Host
	}
	other, _ := nameOf(twins[0].ClientID)
	err = fmt.Errorf("consumer: two processes of group %s have the name %s: one at %s, started %s, and this one at %s, "+
		"started %s, which ends: give one of them another host name or another port in http.listen",
		e.cfg.Group, mine.process, twins[0].Host, other.began(), own, mine.began())
	e.fail(err)
	return err
}

const warnStrangers = "group"

// sayStrangers warns that programs other than Echosieve are members of the group: they get partitions, and what they
// commit counts.
func (e *entry) sayStrangers(members []wire.Member) {
	text, remedy := e.group.Strangers(members)
	if text != "" {
		text += ": " + remedy
		e.log.Warn("the group is shared", "why", text)
	}
	e.warn(warnStrangers, text)
}

// memberName is what a member's client id says of its process: echosieve/<host name>/<listener>/<index>/<start>.
//
// A process that is killed does not leave the group, which would wait a session timeout for it. The next process of
// its name need not: it takes it out. Nobody stores that the former one is dead, so both may be wrong about each
// other. On one host they are not: only one of them can have the listener. On two hosts of one name the former
// one joins again, and then the one that started later ends with an error.
type memberName struct {
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

// nameOf is not ok if the member has no name, or is another program.
func nameOf(clientID string) (n memberName, ok bool) {
	words := strings.Split(clientID, "/")
	if len(words) != 5 || words[0] != broker.ClientID {
		return memberName{}, false
	}
	start, err := strconv.ParseInt(words[4], 36, 64)
	return memberName{process: words[1] + "/" + words[2], index: words[3], start: start}, err == nil
}

// began is the time of the process' start.
func (n memberName) began() string { return time.Unix(0, n.start).UTC().Format(time.RFC3339) }

// formerOf returns the members of a group that had the name of a client id before its process.
func formerOf(clientID string, members []wire.Member) (former []wire.Member) {
	mine, ok := nameOf(clientID)
	for _, m := range members {
		if n, is := nameOf(m.ClientID); ok && is && n.process == mine.process && n.start < mine.start {
			former = append(former, m)
		}
	}
	return former
}

// indexOf returns where a client id is among the members; -1: it is not.
func indexOf(clientID string, members []wire.Member) int {
	return slices.IndexFunc(members, func(m wire.Member) bool { return m.ClientID == clientID })
}
