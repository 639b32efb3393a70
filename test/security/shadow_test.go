package security

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/service"
)

// testShadow: a shadow works with exactly the rights that are documented for it, and check misses each of
// them. Kafka refuses its user the output topics of the service, and Redis the keys.
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
