package security

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/service"
)

// testProduce: the command produce needs only the right Write on the input topic, and asks for it if it is missing.
func (f *fortress) testProduce(t *testing.T) {
	eve := f.settings.With(settings{"kafka.sasl.username": "eve", "kafka.sasl.password": f.secrets[1]})
	produce := func(s settings) (code int, printed string) {
		cmd := exec.CommandContext(t.Context(), service.Binary, "produce")
		cmd.Env = s.Environ()
		cmd.Stdin = strings.NewReader(`{"text":"an article"}` + "\n")
		out, err := cmd.CombinedOutput()
		require.NotNil(t, cmd.ProcessState, "%v", err)
		f.note(out)
		return cmd.ProcessState.ExitCode(), string(out)
	}
	code, printed := produce(eve)
	require.Equal(t, 2, code, printed)
	const missing = "a right on the topic is missing, or the topic does not exist: grant Write on it"
	require.Contains(t, printed, missing)
	code, printed = produce(eve.With(settings{"kafka.create_topics": "true"}))
	require.Equal(t, 2, code, printed)
	require.Contains(t, printed, missing)

	f.secrets = append(f.secrets, "nor-this-password")
	code, printed = produce(eve.With(settings{"kafka.sasl.password": "nor-this-password"}))
	require.Equal(t, 2, code, printed)
	require.Contains(t, printed, "the broker refused the login: check kafka.sasl.username and the password")

	const right = "kafka-acls.sh --add --allow-principal User:eve --operation Write --topic articles"
	f.grant(t, right)
	defer f.revoke(t, right)
	code, printed = produce(eve)
	require.Zero(t, code, printed)
	require.Contains(t, printed, "1 record published to articles")
	code, printed = produce(eve.With(settings{"kafka.create_topics": "true"}))
	require.Zero(t, code, "no right on the output topics is needed: %s", printed)
}

// testCreateTopics: with kafka.create_topics the service needs the right Create as well, and check and run
// ask for it if it is missing.
func (f *fortress) testCreateTopics(t *testing.T) {
	topics := settings{"kafka.create_topics": "true", "kafka.partitions": "1"}
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
	code, findings := f.check(t, s)
	require.Equal(t, 1, code, "%+v", findings)
	require.Len(t, failures(findings), 4, "%+v", findings)
	for _, bad := range failures(findings) {
		require.Contains(t, bad.Problem, "this user may not create the topic made")
		require.Equal(t, remedy, bad.Remedy)
	}
	p := f.run(t, s)
	p.waitFor(t, remedy, true)
	require.Contains(t, p.Log(), "this user may not create the topic made")

	for _, right := range create {
		f.grant(t, right)
	}
	code, findings = f.check(t, s)
	require.Zero(t, code, "%+v", findings)
	listed, err := f.admin.ListTopics(t.Context(), "made")
	require.NoError(t, err)
	require.Error(t, listed["made"].Err, "check creates nothing")
	p = f.run(t, s)
	p.WaitReady(t)
	require.Zero(t, p.end(t))
}
