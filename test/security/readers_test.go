package security

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/ledger"
	"echosieve/test/service"
)

// testReaders: explain and diff work with the rights of docs/security.md, which let them read only, and name
// each right in Kafka that is missing.
func (f *fortress) testReaders(t *testing.T) {
	p := f.run(t, f.settings)
	p.WaitReady(t)
	mark := f.publish(t)
	f.await(t, mark)
	require.Zero(t, p.end(t))
	duplicate := f.duplicateOf(t, mark)

	doc, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	_, rule, found := strings.Cut(string(doc), "`echosieve explain` only reads: `")
	require.True(t, found)
	rule, _, _ = strings.Cut(rule, "`")
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
	explain := []string{"explain", "--id", mark}
	diff := []string{"diff", strings.Join(outputs, ","), outputs[1]}
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
	code, out, errOut = command(eve, diff...)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "(100.00 %)")

	for i, right := range rights {
		topic := option(t, right, "--topic")
		f.revoke(t, right)
		if i > 0 { // records of the input are read for texts only
			for _, args := range [][]string{explain, diff} {
				code, out, errOut := command(eve, args...)
				require.Equal(t, 2, code, out)
				require.Regexp(t, "of "+topic+`(/\d+)?: .*grant Read on it`, errOut)
			}
		} else {
			code, out, errOut := command(eve, "explain", topic+"/0/0")
			require.Equal(t, 2, code, out)
			require.Regexp(t, "of "+topic+`(/\d+)?: .*grant Read on it`, errOut)
		}
		f.grant(t, right)
	}

	require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "reader", "-hget").Err())
	code, out, errOut = command(eve, "explain", duplicate)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Note: the index was not asked")
}

// duplicateOf returns the coordinates of the output that is a copy of an article that publish published.
func (f *fortress) duplicateOf(t *testing.T, mark string) string {
	t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(f.kafka.Addr), kgo.ConsumeTopics(outputs[1]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), service.Patience)
	defer cancel()
	for {
		fetches := reader.PollFetches(ctx)
		require.NoError(t, ctx.Err())
		for _, r := range fetches.Records() {
			if string(r.Key) == mark {
				return ledger.Coordinates(r)
			}
		}
	}
}
