package consumer

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/internal/base/diag"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// unsecured returns an unsecured JSON Web Token, which Kafka's own validator for development takes.
func unsecured(user string, issued, end time.Time) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, issued.Unix(),
		end.Unix())) + "."
}

// tokens logs in to a real broker with tokens of a file that is replaced while the process runs, and with the
// mistakes of operators. The broker wants a new login of every connection after five seconds.
func tokens(t *testing.T, s *kafkaserver.Server) {
	admin := kafkatest.RealConfig(s, "oauth")
	kafkatest.EnsureTopics(t, admin)
	allow(t, admin, "bob")
	cfg := admin
	cfg.CreateTopics, cfg.Brokers = false, []string{s.LoginAddr}
	file := filepath.Join(t.TempDir(), "token")
	cfg.SASL = broker.SASL{Mechanism: "oauthbearer", TokenFile: file}
	write := func(token string) { require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600)) }
	now := time.Now()

	for name, c := range map[string]struct{ token, want string }{
		"no file": {"", "have a program write it"},
		"expired": {
			unsecured("bob", now.Add(-time.Hour), now.Add(-time.Minute)),
			"look for the program that should renew it",
		},
		"no token":  {"not.a.token", "check issuer, audience"},
		"no rights": {unsecured("eve", now, now.Add(time.Hour)), "grant Read"},
	} {
		if c.token != "" {
			write(c.token)
		}
		failed := false
		for _, f := range tools.Check(context.Background(), cfg) {
			if f.Severity == diag.Failure {
				failed = true
				require.Contains(t, f.Remedy, c.want, "%s: %+v", name, f)
			}
		}
		require.True(t, failed, name)
		_ = os.Remove(file)
	}

	// Connections are closed every five seconds, and tokens are good for eight. The group's connection is one
	// of them: each time it ends, the group generation ends, too.
	seconds := func(n int) time.Time { return time.Now().Add(time.Duration(n) * time.Second) }
	write(unsecured("bob", time.Now(), seconds(8)))
	m := startMember(t, cfg, &router{})
	for start, sent := time.Now(), 0; m.value(t, "echosieve_consumer_rebalances_total") < 3; {
		require.Less(t, time.Since(start), kafkatest.Patience)
		write(unsecured("bob", time.Now(), seconds(8)))
		kafkatest.Produce(t, kafkatest.Client(t, admin),
			kafkatest.Numbered(admin.Topics.Input, fmt.Sprint("r", sent), 3, 3)...)
		sent += 3
		kafkatest.ConsumeUntil(t, admin, kafkatest.OutTopics(admin.Topics),
			func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == sent })
	}
	m.stop(t)
}
