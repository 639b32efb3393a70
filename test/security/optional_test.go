package security

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
