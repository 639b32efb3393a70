package security

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/redisindex"
	"echosieve/test/service"
)

// allowRedis gives a user the documented rights in the namespace except one command.
func (f *fortress) allowRedis(t *testing.T, user, namespace, password, without string) {
	t.Helper()
	rules := []any{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	for rule := range strings.FieldsSeq(redisindex.ACLRule(namespace)) {
		if rule != "+"+without {
			rules = append(rules, rule)
		}
	}
	require.NoError(t, f.redis.Do(t.Context(), rules...).Err())
}

// kafkaRights returns the kafka-acls.sh commands of docs/security.md that grant rights to a user.
func kafkaRights(t *testing.T, user string) []string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	var commands []string
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "kafka-acls.sh ") && option(t, line, "--allow-principal") == "User:"+user {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	require.NotEmpty(t, commands)
	return commands
}

// remedy returns what check and run advise if the right is missing that a command grants, and a part of the subject.
func remedy(t *testing.T, command string) (advice, subject string) {
	t.Helper()
	if strings.Contains(command, "--topic") {
		return "grant Read on the input topic and Write on the output topics", option(t, command, "--topic")
	}
	return "grant " + option(t, command, "--operation") + " on the group", "group"
}

type acl struct {
	kind            kmsg.ACLResourceType
	name, principal string
	operation       kmsg.ACLOperation
}

// parseACL parses a command line of kafka-acls.sh.
func parseACL(t *testing.T, command string) acl {
	t.Helper()
	a := acl{operation: map[string]kmsg.ACLOperation{
		"Read": kmsg.ACLOperationRead, "Write": kmsg.ACLOperationWrite, "Create": kmsg.ACLOperationCreate,
	}[option(t, command, "--operation")]}
	require.NotZero(t, a.operation, command)
	a.principal = option(t, command, "--allow-principal")
	if strings.Contains(command, "--topic") {
		a.kind, a.name = kmsg.ACLResourceTypeTopic, option(t, command, "--topic")
	} else {
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

func (f *fortress) grant(t *testing.T, command string) {
	t.Helper()
	a := parseACL(t, command)
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.ResourcePatternType = a.kind, a.name, kmsg.ACLResourcePatternTypeLiteral
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
	filter.ResourceType, filter.ResourceName, filter.ResourcePatternType = a.kind, &a.name, kmsg.ACLResourcePatternTypeLiteral
	filter.Principal, filter.Operation, filter.PermissionType = &a.principal, a.operation, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Filters = append(req.Filters, filter)
	res, err := req.RequestWith(t.Context(), f.adminRaw)
	require.NoError(t, err)
	require.Len(t, res.Results[0].MatchingACLs, 1)
	f.awaitRight(t, a, false)
}

// awaitRight waits until the broker knows the right, or no longer knows it. The controller tells the broker a moment after the change.
func (f *fortress) awaitRight(t *testing.T, a acl, given bool) {
	t.Helper()
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourceName, req.ResourcePatternType = a.kind, &a.name, kmsg.ACLResourcePatternTypeLiteral
	req.Principal, req.Operation, req.PermissionType = &a.principal, a.operation, kmsg.ACLPermissionTypeAllow
	require.Eventually(t, func() bool {
		res, err := req.RequestWith(t.Context(), f.adminRaw)
		return err == nil && res.ErrorCode == 0 && (len(res.Resources) > 0) == given
	}, service.Patience, 10*time.Millisecond)
}
