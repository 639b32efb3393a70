package security

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/redisindex/connection"
	"echosieve/test/service"
)

// allowRedis gives a user the documented rights in the namespace except one command.
func (f *fortress) allowRedis(t *testing.T, user, namespace, password, without string) {
	t.Helper()
	rules := []any{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	for rule := range strings.FieldsSeq(connection.ACLRule(namespace)) {
		if rule != "+"+without {
			rules = append(rules, rule)
		}
	}
	require.NoError(t, f.redis.Do(t.Context(), rules...).Err())
}

// kafkaRights returns the kafka-acls.sh commands of docs/security.md that grant rights to a user: one for
// each topic of a command, so that a test can grant and revoke each right alone.
func kafkaRights(t *testing.T, user string) []string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	var commands []string
	for line := range strings.Lines(string(doc)) {
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
			option(t, command, "--topic") != "articles"
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
	// with the right Read the topic is seen
	case strings.Contains(command, "--topic") && option(t, command, "--operation") == "Write":
		return "grant Write on the topic", option(t, command, "--topic")
	case strings.Contains(command, "--topic"):
		return "grant Read on the input topic and Write on the output topics", option(t, command, "--topic")
	}
	return "grant " + option(t, command, "--operation") + " on the group", "group"
}

type acl struct {
	kind            kmsg.ACLResourceType
	pattern         kmsg.ACLResourcePatternType
	name, principal string
	operation       kmsg.ACLOperation
}

// parseACL parses a command line of kafka-acls.sh.
func parseACL(t *testing.T, command string) acl {
	t.Helper()
	a := acl{pattern: kmsg.ACLResourcePatternTypeLiteral, operation: map[string]kmsg.ACLOperation{
		"Read": kmsg.ACLOperationRead, "Write": kmsg.ACLOperationWrite, "Create": kmsg.ACLOperationCreate,
	}[option(t, command, "--operation")]}
	require.NotZero(t, a.operation, command)
	a.principal = option(t, command, "--allow-principal")
	if strings.Contains(command, "--resource-pattern-type prefixed") {
		a.pattern = kmsg.ACLResourcePatternTypePrefixed
	}
	switch {
	case strings.Contains(command, "--topic"):
		a.kind, a.name = kmsg.ACLResourceTypeTopic, option(t, command, "--topic")
	case strings.Contains(command, "--transactional-id"):
		a.kind, a.name = kmsg.ACLResourceTypeTransactionalId, option(t, command, "--transactional-id")
	default:
		a.kind, a.name = kmsg.ACLResourceTypeGroup, option(t, command, "--group")
	}
	return a
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
	code, findings := f.check(t, s, flags...)
	require.Equal(t, 1, code, "%+v", findings)
	bad := failures(findings)
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
	code, findings := f.check(t, f.settings)
	require.Zero(t, code, "%+v", findings)
	require.True(t, slices.ContainsFunc(findings, func(f finding) bool {
		return f.Severity == "warning" && f.Subject == subject && strings.Contains(f.Remedy, want)
	}), "%+v", findings)
	p := f.run(t, f.settings)
	p.WaitReady(t)
	require.Eventually(t, func() bool {
		answer := p.Get("/readyz")
		return strings.Contains(answer, "delivery is at least once") && strings.Contains(answer, want)
	}, service.Patience, 50*time.Millisecond)
	require.Zero(t, p.end(t))
}

func (f *fortress) grant(t *testing.T, command string) {
	t.Helper()
	a := parseACL(t, command)
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.ResourcePatternType = a.kind, a.name, a.pattern
	c.Principal, c.Host, c.Operation, c.PermissionType = a.principal, "*", a.operation, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, c)
	res, err := req.RequestWith(t.Context(), f.adminRaw)
	require.NoError(t, err)
	require.Zero(t, res.Results[0].ErrorCode)
	f.awaitRight(t, a, true)
}

func (f *fortress) revoke(t *testing.T, command string) {
	t.Helper()
	a := parseACL(t, command)
	filter := kmsg.NewDeleteACLsRequestFilter()
	filter.ResourceType, filter.ResourceName, filter.ResourcePatternType = a.kind, &a.name, a.pattern
	filter.Principal, filter.Operation, filter.PermissionType = &a.principal, a.operation, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Filters = append(req.Filters, filter)
	res, err := req.RequestWith(t.Context(), f.adminRaw)
	require.NoError(t, err)
	require.Len(t, res.Results[0].MatchingACLs, 1)
	f.awaitRight(t, a, false)
}

// awaitRight waits until the broker knows the right, or no longer knows it. The controller tells the broker a
// moment after the change.
func (f *fortress) awaitRight(t *testing.T, a acl, given bool) {
	t.Helper()
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourceName, req.ResourcePatternType = a.kind, &a.name, a.pattern
	req.Principal, req.Operation, req.PermissionType = &a.principal, a.operation, kmsg.ACLPermissionTypeAllow
	require.Eventually(t, func() bool {
		res, err := req.RequestWith(t.Context(), f.adminRaw)
		return err == nil && res.ErrorCode == 0 && (len(res.Resources) > 0) == given
	}, service.Patience, 10*time.Millisecond)
}
