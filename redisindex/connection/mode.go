package connection

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/diag"
)

// The modes that a server names in its reply to HELLO.
const (
	modeServer   = "standalone"
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// misfits holds problem and remedy for servers that are not of the mode that the settings say: by that mode,
// and by the mode of the server. In a remedy, %s stands for the masters that a sentinel watches.
var misfits = map[string]map[string][2]string{
	modeServer: {
		modeCluster:  {"is a node of a Redis Cluster, but redis.cluster is not set", "set redis.cluster: true"},
		modeSentinel: {"is a sentinel, not a server", "set redis.master_name to the master that it watches: %s"},
	},
	modeCluster: {
		modeServer: {"is not part of a Redis Cluster, but redis.cluster is set",
			"set redis.cluster: false, or redis.addrs to nodes of the cluster"},
		modeSentinel: {"is a sentinel, but redis.cluster is set",
			"set redis.cluster: false and redis.master_name to the master that it watches: %s"},
	},
	modeSentinel: {
		modeServer: {"is a server, not a sentinel, but redis.master_name is set",
			"set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"},
		modeCluster: {"is a node of a Redis Cluster, not a sentinel, but redis.master_name is set",
			"remove redis.master_name and set redis.cluster: true"},
	},
}

// CheckMode asks each address whether it is a server, a node of a cluster or a sentinel, and returns the
// settings that do not fit. Call it only after Check has found a Failure, because a proxy may call itself a
// server although it serves a cluster. An address that does not answer is left out.
func CheckMode(ctx context.Context, o Options) []diag.Finding {
	tlsConfig, err := o.TLS.Load()
	if err != nil {
		return nil
	}
	want := modeServer
	switch {
	case o.Cluster:
		want = modeCluster
	case o.MasterName != "":
		want = modeSentinel
	}
	var findings []diag.Finding
	for _, addr := range o.Addrs {
		mode, masters := askMode(ctx, addr, o, tlsConfig)
		if mode == modeSentinel && want == modeSentinel && !slices.Contains(masters, o.MasterName) {
			findings = append(findings,
				diag.New(diag.Failure, addr, fmt.Sprintf("this sentinel watches no master named %q", o.MasterName),
					"set redis.master_name to one that it watches: "+list(masters)))
		}
		if misfit, wrong := misfits[want][mode]; wrong {
			findings = append(findings,
				diag.New(diag.Failure, addr, misfit[0], strings.ReplaceAll(misfit[1], "%s", list(masters))))
		}
	}
	return findings
}

// askMode returns the mode that a server names, or "", and the masters that it watches if it is a sentinel.
// It tries each login of the settings and no login, because the right one depends on the mode. HELLO needs no
// right.
func askMode(ctx context.Context, addr string, o Options, tlsConfig *tls.Config) (mode string, masters []string) {
	for _, login := range [][2]string{{o.Username, o.Password}, {o.SentinelUsername, o.SentinelPassword}, {}} {
		server := redis.NewClient(&redis.Options{
			Addr: addr, Username: login[0], Password: login[1], TLSConfig: tlsConfig,
			Protocol: 2, MaxRetries: -1, DialerRetries: 1,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, ContextTimeoutEnabled: true,
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		fields, err := server.Do(ctx, "HELLO").Slice()
		mode = valueOf(fields, "mode")
		if mode == modeSentinel {
			watched, _ := server.Do(ctx, "SENTINEL", "MASTERS").Slice() // empty if the sentinel refuses
			for _, w := range watched {
				if fields, ok := w.([]any); ok {
					masters = append(masters, valueOf(fields, "name"))
				}
			}
		}
		_ = server.Close()
		if err == nil {
			break
		}
	}
	return mode, masters
}

// valueOf returns the value of a name in a reply that lists names and values in turn; "" if the name is missing.
func valueOf(fields []any, name string) string {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == name {
			value, _ := fields[i+1].(string)
			return value
		}
	}
	return ""
}

func list(masters []string) string { return cmp.Or(strings.Join(masters, ", "), "it names none") }
