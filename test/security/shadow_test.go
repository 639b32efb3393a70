package security

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/service"
)

// testShadow: a shadow works with exactly the rights that are documented for it, and needs each of them. Kafka refuses its user the output
// topics of the service, and Redis the keys.
func (f *fortress) testShadow(t *testing.T) {
	s := f.settings.With(settings{"kafka.sasl.username": "echosieve-shadow", "redis.username": "echosieve-shadow"})
	withFlag := func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--shadow") }
	code, findings := f.check(t, s, "--shadow")
	require.Zero(t, code, "%+v", findings)
	p := &process{service.Start(t, s, withFlag), f}
	p.WaitReady(t)
	f.awaitIn(t, f.publish(t), 3, shadow)
	require.Zero(t, p.end(t))

	code, findings = f.check(t, s)
	require.Equal(t, 1, code, "with the rights of a shadow no service can start")
	refused := fmt.Sprint(failures(findings))
	for _, want := range append([]string{"group echosieve", "ACL SETUSER echosieve-shadow ~echosieve:*"}, outputs...) {
		require.Contains(t, refused, want)
	}

	for _, command := range kafkaRights(t, "echosieve-shadow") {
		t.Run(command, func(t *testing.T) {
			if forExactlyOnce(t, command) {
				f.withoutExactlyOnce(t, command, s, "--shadow")
				return
			}
			f.revoke(t, command)
			defer f.grant(t, command)
			code, findings := f.check(t, s, "--shadow")
			require.Equal(t, 1, code, "%+v", findings)
			require.Len(t, failures(findings), 1)
			want, subject := remedy(t, command)
			require.Contains(t, failures(findings)[0].Remedy, want)
			require.Contains(t, failures(findings)[0].Subject, subject)
			var log bytes.Buffer
			cmd := exec.CommandContext(t.Context(), service.Binary, "run", "--shadow", "--http.listen", "127.0.0.1:0")
			cmd.Env, cmd.Stderr = s.Environ(), &log
			require.Error(t, cmd.Run(), "without the right the shadow must not start")
			f.note(log.Bytes())
			require.Contains(t, log.String(), want)
		})
	}
}
