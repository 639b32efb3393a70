package security

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/service"
)

func TestSecuredServers(t *testing.T) {
	f := build(t)
	t.Run("works", f.testWorks)
	t.Run("mistakes", f.testMistakes)
	t.Run("create topics", f.testCreateTopics)
	t.Run("shadow", f.testShadow)
	t.Run("stories", f.testStories)
	t.Run("kafka rights", f.testKafkaRights)
	t.Run("redis rights", f.testRedisRights)
	t.Run("explain and diff", f.testReaders)
}

// testWorks runs the service with a login, with client certificates, and with exactly the documented rights.
// Package consumer tries the other mechanisms.
func (f *fortress) testWorks(t *testing.T) {
	require.Empty(t, failures(f.check(t, 0, f.settings)))
	p := f.run(t, f.settings)
	p.WaitReady(t)
	f.await(t, f.publish(t))
	require.Zero(t, p.end(t))
}

// testMistakes makes usual mistakes in the settings. The commands check and run must name the cause and the
// remedy. TestCertificatesAndVersions makes those of TLS; packages consumer and connection try more of them.
func (f *fortress) testMistakes(t *testing.T) {
	f.secrets = append(f.secrets, "not-the-password")
	for _, m := range []struct {
		name          string
		changes       settings
		cause, remedy string
		ends          bool // run ends, because only a change of the settings helps
	}{
		{"kafka: wrong password", settings{"kafka.sasl.password": "not-the-password"},
			"the broker refused the login", "check kafka.sasl.username and the password", true},
		{"kafka: unknown topic", settings{"kafka.topics.input": "nowhere"},
			"or the topic does not exist", "check that they exist", true},
		{"redis: wrong password", settings{"redis.password_file": "", "redis.password": "not-the-password"},
			"Redis refused the login", "check redis.username and the password", false},
	} {
		t.Run(m.name, func(t *testing.T) {
			s := f.settings.With(m.changes)
			bad := failures(f.check(t, 1, s))
			require.NotEmpty(t, bad)
			require.Contains(t, bad[0].Problem, m.cause)
			require.Contains(t, bad[0].Remedy, m.remedy)
			component, _, _ := strings.Cut(m.name, ":")
			for _, b := range bad {
				require.Equal(t, component, b.Component, "%+v", b)
			}
			p := f.run(t, s)
			p.waitFor(t, m.remedy, m.ends)
			p.end(t) // before the log is read: /readyz can show the cause before the log does
			require.Contains(t, p.Log(), m.cause)
		})
	}
}

// testKafkaRights revokes each documented right. The service must not start without the right, or deliver at
// least once, and must say what to grant.
func (f *fortress) testKafkaRights(t *testing.T) {
	for _, command := range kafkaRights(t, "echosieve") {
		t.Run(command, func(t *testing.T) {
			if forExactlyOnce(t, command) {
				f.withoutExactlyOnce(t, command)
				return
			}
			f.revoke(t, command)
			defer f.grant(t, command)
			want, subject := f.checkMisses(t, command, f.settings)
			p := f.run(t, f.settings)
			p.waitFor(t, want, true)
			require.Contains(t, p.Log(), subject)
		})
	}
}

// testRedisRights revokes rights of a running service. The service must wait and name the right, and resume
// by itself when the right is back. Package redisindex tests that each documented right is necessary.
func (f *fortress) testRedisRights(t *testing.T) {
	p := f.run(t, f.settings)
	p.WaitReady(t)
	for _, right := range []string{"ping", "hmget"} {
		t.Run(right, func(t *testing.T) {
			require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "echosieve", "-"+right).Err())
			require.Contains(t, failures(f.check(t, 1, f.settings))[0].Remedy, "ACL SETUSER echosieve ~echosieve:*")
			mark := f.publish(t)
			p.Await(t, "/readyz", "503", "ACL SETUSER")
			require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "echosieve", "+"+right).Err())
			p.WaitReady(t)
			f.await(t, mark)
		})
	}
	p.end(t)
	require.NotContains(t, p.Log(), "copies of them can pass as unique",
		"Redis lost no data, but the service reports a loss")
}

// testStories: without its rights the role of stories names them: those in Redis, then the topic.
func (f *fortress) testStories(t *testing.T) {
	p := &process{service.Start(t, f.settings, func(cmd *exec.Cmd) { cmd.Args[1] = "stories" }), f}
	p.waitFor(t, " +get +getrange ", false)
	require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "echosieve", "+get", "+getrange").Err())
	p.waitFor(t, "grant Read on the output topics, and Read and Write on articles-stories", true)
	p.end(t)
}

// testReaders: explain and diff work with the rights of docs/security.md, which let them read only, and name
// a right in Kafka that is missing.
func (f *fortress) testReaders(t *testing.T) {
	p := f.run(t, f.settings)
	p.WaitReady(t)
	mark := f.publish(t)
	f.await(t, mark)
	require.Zero(t, p.end(t))
	duplicate := f.duplicateOf(t, mark)

	rule := host.Between(t, host.Read(t, "docs/security.md"), "`echosieve explain` only reads: `", "`")
	f.secrets = append(f.secrets, "a-readers-password")
	args := []any{"ACL", "SETUSER", "reader", "reset", "on", ">a-readers-password", "~echosieve:*"}
	for right := range strings.FieldsSeq(rule) {
		args = append(args, right)
	}
	require.NoError(t, f.redis.Do(t.Context(), args...).Err())
	eve := f.settings.With(settings{
		"kafka.sasl.username": "eve", "kafka.sasl.password": f.secrets[1], "redis.username": "reader",
		"redis.password": "a-readers-password", "redis.password_file": "",
	})
	command := func(s settings, args ...string) (code int, out, errOut string) {
		cmd := exec.CommandContext(t.Context(), service.Binary, args...)
		cmd.Env = s.Environ()
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		_ = cmd.Run() // the exit code says it
		f.note(append(o.Bytes(), e.Bytes()...))
		// long lines are broken
		return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(o.String()), " "), e.String()
	}
	var rights []string
	for _, topic := range append([]string{input}, outputs...) {
		rights = append(rights, "kafka-acls.sh --add --allow-principal User:eve --operation Read --topic "+topic)
		f.grant(t, rights[len(rights)-1])
	}
	defer func() {
		for _, right := range rights {
			f.revoke(t, right)
		}
	}()

	code, out, errOut := command(eve, "explain", duplicate)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "exact, decided by digest")
	require.Contains(t, out, "in the index with fingerprint", "the rights in Redis are enough")
	require.NotContains(t, out, "Note:")
	code, out, errOut = command(eve, "diff", strings.Join(outputs, ","), outputs[1])
	require.Zero(t, code, errOut)
	require.Contains(t, out, "(100.00 %)")

	f.revoke(t, rights[2])
	code, out, errOut = command(eve, "explain", "--id", mark)
	require.Equal(t, 2, code, out)
	require.Regexp(t, "of "+option(t, rights[2], "--topic")+`(/\d+)?: .*grant Read on it`, errOut)
	f.grant(t, rights[2])

	require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "reader", "-hget").Err())
	code, out, errOut = command(eve, "explain", duplicate)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Note: the index was not asked")
}

// duplicateOf returns the coordinates of the output that is a copy of an article that publish published.
func (f *fortress) duplicateOf(t *testing.T, mark string) string {
	t.Helper()
	at := -1
	all := kafkaserver.Read(t, f.kafka.Addr, outputs[1:2], func(all []*kgo.Record) bool {
		at = slices.IndexFunc(all, func(r *kgo.Record) bool { return string(r.Key) == mark })
		return at >= 0
	})
	return ledger.Coordinates(all[at])
}
