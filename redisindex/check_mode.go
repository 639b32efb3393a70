package redisindex

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

// What a server says of itself in its answer to HELLO.
const (
	modeServer   = "standalone"
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// misfits says what is wrong and what to do, by what the settings take the servers of redis.addrs for and by what they are.
// A remedy with %s names the masters that a sentinel watches.
var misfits = map[string]map[string][2]string{
	modeServer: {
		modeCluster:  {"is a node of a Redis Cluster, but redis.cluster is not set", "set redis.cluster: true"},
		modeSentinel: {"is a sentinel, not a server", "set redis.master_name to the master that it watches: %s"},
	},
	modeCluster: {
		modeServer:   {"is not part of a Redis Cluster, but redis.cluster is set", "set redis.cluster: false, or redis.addrs to nodes of the cluster"},
		modeSentinel: {"is a sentinel, but redis.cluster is set", "set redis.cluster: false and redis.master_name to the master that it watches: %s"},
	},
	modeSentinel: {
		modeServer:  {"is a server, not a sentinel, but redis.master_name is set", "set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"},
		modeCluster: {"is a node of a Redis Cluster, not a sentinel, but redis.master_name is set", "remove redis.master_name and set redis.cluster: true"},
	},
}

// CheckMode asks each of the addresses whether it is a server, a node of a cluster or a sentinel, and says which setting
// does not fit. It is for use after Check has found a Failure: a proxy may call itself a server and serve as a cluster. An
// address that does not tell is left out.
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
			findings = append(findings, diag.New(diag.Failure, addr, fmt.Sprintf("this sentinel watches no master named %q", o.MasterName),
				"set redis.master_name to one that it watches: "+list(masters)))
		}
		if misfit, wrong := misfits[want][mode]; wrong {
			findings = append(findings, diag.New(diag.Failure, addr, misfit[0], strings.ReplaceAll(misfit[1], "%s", list(masters))))
		}
	}
	return findings
}

// askMode returns the mode that a server names, "" if it names none, and the masters that it watches if it is a sentinel. It
// tries each login of the settings and none: which one is right depends on what the server is. HELLO needs no right.
func askMode(ctx context.Context, addr string, o Options, tlsConfig *tls.Config) (mode string, masters []string) {
	for _, login := range [][2]string{{o.Username, o.Password}, {o.SentinelUsername, o.SentinelPassword}, {}} {
		server := redis.NewClient(&redis.Options{
			Addr: addr, Username: login[0], Password: login[1], TLSConfig: tlsConfig, Protocol: 2, MaxRetries: -1, DialerRetries: 1,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		fields, err := server.Do(ctx, "HELLO").Slice()
		mode = valueOf(fields, "mode")
		if mode == modeSentinel {
			watched, _ := server.Do(ctx, "SENTINEL", "MASTERS").Slice() // none, if it does not tell
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

// valueOf finds a string behind its name in a reply that is a list of names and values.
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
