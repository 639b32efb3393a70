package security

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/redisindex/connection"
	"echosieve/test/host"
	"echosieve/test/service"
)

// allowRedis gives a user the documented rights in the namespace of its name.
func (f *fortress) allowRedis(t *testing.T, user, password string) {
	t.Helper()
	rules := []any{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	for rule := range strings.FieldsSeq(connection.ACLRule(user)) {
		rules = append(rules, rule)
	}
	require.NoError(t, f.redis.Do(t.Context(), rules...).Err())
}

// kafkaRights returns the kafka-acls.sh commands of docs/security.md that grant rights to a user: one for
// each topic of a command, so that a test can grant and revoke each right alone.
func kafkaRights(t *testing.T, user string) []string {
	t.Helper()
	var commands []string
	for line := range strings.Lines(host.Read(t, "docs/security.md")) {
		if strings.HasPrefix(line, "kafka-acls.sh ") && option(t, line, "--allow-principal") == "User:"+user {
			command, topics, found := strings.Cut(strings.TrimSpace(line), " --topic ")
			if !found {
				commands = append(commands, command)
				continue
			}
			for topic := range strings.SplitSeq(topics, " --topic ") {
				commands = append(commands, command+" --topic "+topic)
			}
		}
	}
	require.NotEmpty(t, commands)
	return commands
}

// forExactlyOnce says whether a command grants a right that only delivery exactly once needs.
func forExactlyOnce(t *testing.T, command string) bool {
	t.Helper()
	return strings.Contains(command, "--transactional-id") ||
		strings.Contains(command, "--topic") && option(t, command, "--operation") == "Read" &&
			option(t, command, "--topic") != "articles" && option(t, command, "--topic") != "articles-learnt"
}

// remedy returns what check and run advise if the right is missing that a command grants, and a part of the subject.
func remedy(t *testing.T, command string) (advice, subject string) {
	t.Helper()
	switch {
	case strings.Contains(command, "--transactional-id"):
		return "grant Write on the transactional ids with the prefix " +
			strings.TrimSuffix(option(t, command, "--transactional-id"), "/"), "delivery"
	case forExactlyOnce(t, command):
		return "grant Read on the output topics", "delivery"
	// with the other right the topic is seen
	case strings.Contains(command, "User:echosieve ") && strings.HasSuffix(command, "articles-learnt"):
		return "grant " + option(t, command, "--operation") + " on the topic", option(t, command, "--topic")
	// with the right Read the topic is seen
	case strings.Contains(command, "--topic") && option(t, command, "--operation") == "Write":
		return "grant Write on the topic", option(t, command, "--topic")
	case strings.Contains(command, "--topic"):
		return "grant Read on the input topic and Write on the output topics", option(t, command, "--topic")
	}
	return "grant " + option(t, command, "--operation") + " on the group", "group"
}

// aclOf returns the right that a command line of kafka-acls.sh grants.
func aclOf(t *testing.T, command string) *kadm.ACLBuilder {
	t.Helper()
	operation, err := kmsg.ParseACLOperation(option(t, command, "--operation"))
	require.NoError(t, err, command)
	b := kadm.NewACLs().Allow(option(t, command, "--allow-principal")).AllowHosts("*").Operations(operation)
	b.ResourcePatternType(kadm.ACLPatternLiteral)
	if strings.Contains(command, "--resource-pattern-type prefixed") {
		b.ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	switch {
	case strings.Contains(command, "--topic"):
		return b.Topics(option(t, command, "--topic"))
	case strings.Contains(command, "--transactional-id"):
		return b.TransactionalIDs(option(t, command, "--transactional-id"))
	}
	return b.Groups(option(t, command, "--group"))
}

func option(t *testing.T, command, name string) string {
	t.Helper()
	fields := strings.Fields(command)
	for i := range fields[:len(fields)-1] {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	t.Fatalf("no %s in %s", name, command)
	return ""
}

// checkMisses requires that check names the one right that is missing, which a command grants. It returns
// parts of its remedy and subject.
func (f *fortress) checkMisses(t *testing.T, command string, s settings, flags ...string) (want, subject string) {
	t.Helper()
	want, subject = remedy(t, command)
	bad := failures(f.check(t, 1, s, flags...))
	require.Len(t, bad, 1)
	require.Contains(t, bad[0].Subject, subject)
	require.Contains(t, bad[0].Remedy, want)
	return want, subject
}

// withoutExactlyOnce checks that a service without the right that a command grants delivers at least once and says so.
func (f *fortress) withoutExactlyOnce(t *testing.T, command string) {
	t.Helper()
	f.revoke(t, command)
	defer f.grant(t, command)
	want, subject := f.checkMisses(t, command, f.settings.With(settings{"kafka.delivery": "exactly_once"}))
	findings := f.check(t, 0, f.settings)
	require.True(t, slices.ContainsFunc(findings, func(f finding) bool {
		return f.Severity == "warning" && f.Subject == subject && strings.Contains(f.Remedy, want)
	}), "%+v", findings)
	p := f.run(t, f.settings)
	p.WaitReady(t)
	p.Await(t, "/readyz", "", "delivery is at least once", want)
	require.Zero(t, p.end(t))
}

func (f *fortress) grant(t *testing.T, command string) {
	t.Helper()
	created, err := f.admin.CreateACLs(t.Context(), aclOf(t, command))
	require.NoError(t, err)
	require.NoError(t, created[0].Err)
	f.awaitRight(t, command, true)
}

func (f *fortress) revoke(t *testing.T, command string) {
	t.Helper()
	deleted, err := f.admin.DeleteACLs(t.Context(), aclOf(t, command))
	require.NoError(t, err)
	require.Len(t, deleted[0].Deleted, 1)
	f.awaitRight(t, command, false)
}

// awaitRight waits until the broker knows the right, or no longer knows it. The controller tells the broker a
// moment after the change.
func (f *fortress) awaitRight(t *testing.T, command string, given bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		known, err := f.admin.DescribeACLs(t.Context(), aclOf(t, command))
		return err == nil && known[0].Err == nil && (len(known[0].Described) > 0) == given
	}, service.Patience, 10*time.Millisecond)
}

// testShadow: a shadow works with exactly the rights that are documented for it, and check misses each of
// them. Kafka refuses its user the output topics of the service, and Redis the keys.
func (f *fortress) testShadow(t *testing.T) {
	s := f.settings.With(settings{"kafka.sasl.username": "echosieve-shadow", "redis.username": "echosieve-shadow"})
	withFlag := func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--shadow") }
	f.check(t, 0, s, "--shadow")
	p := &process{service.Start(t, s, withFlag), f}
	p.WaitReady(t)
	f.awaitIn(t, f.publish(t), 3, shadow)
	require.Zero(t, p.end(t))

	refused := fmt.Sprint(failures(f.check(t, 1, s))) // with the rights of a shadow no service can start
	for _, want := range append([]string{"group echosieve", "ACL SETUSER echosieve-shadow ~echosieve:*"}, outputs...) {
		require.Contains(t, refused, want)
	}

	for _, command := range kafkaRights(t, "echosieve-shadow") {
		t.Run(command, func(t *testing.T) {
			f.revoke(t, command)
			defer f.grant(t, command)
			needed := s
			if forExactlyOnce(t, command) {
				needed = s.With(settings{"kafka.delivery": "exactly_once"})
			}
			f.checkMisses(t, command, needed, "--shadow")
		})
	}
}

// testCreateTopics: with kafka.create_topics the service needs the right Create as well, and check and run
// ask for it if it is missing.
func (f *fortress) testCreateTopics(t *testing.T) {
	topics := settings{"kafka.create_topics": "true", "kafka.partitions": "1", "detection.learn": "false"}
	var create []string
	for key, name := range map[string]string{"input": "made", "unique": "made-unique", "duplicate": "made-duplicate",
		"dead": "made-dead"} {
		topics["kafka.topics."+key] = name
		operation := map[bool]string{true: "Read", false: "Write"}[key == "input"]
		f.grant(t, "kafka-acls.sh --add --allow-principal User:echosieve --operation "+operation+" --topic "+name)
		create = append(create, "kafka-acls.sh --add --allow-principal User:echosieve --operation Create --topic "+name)
	}
	s := f.settings.With(topics)
	const remedy = "grant Create on it or on the cluster, or create it beforehand"
	findings := failures(f.check(t, 1, s))
	require.Len(t, findings, 4)
	for _, bad := range findings {
		require.Contains(t, bad.Problem, "this user may not create the topic made")
		require.Equal(t, remedy, bad.Remedy)
	}
	p := f.run(t, s)
	p.waitFor(t, remedy, true)
	require.Contains(t, p.Log(), "this user may not create the topic made")

	for _, right := range create {
		f.grant(t, right)
	}
	f.check(t, 0, s)
	listed, err := f.admin.ListTopics(t.Context(), "made")
	require.NoError(t, err)
	require.Error(t, listed["made"].Err, "check creates nothing")
	p = f.run(t, s)
	p.WaitReady(t)
	require.Zero(t, p.end(t))
}
