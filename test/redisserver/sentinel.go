package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

// MasterName is the name under which the sentinels of StartSentinel watch their master.
const MasterName = "news"

// Sentinel is a master and a replica under three sentinels, all real servers on loopback. It ends with the
// test. The methods that change it return errors and may be called from any goroutine, but not at the same
// time.
type Sentinel struct {
	Servers   []*Server // at first the master, then the replica; failovers change the roles
	Sentinels []*Server
}

// StartSentinel starts the servers and waits until the sentinels know the replica and each other. The
// sentinels replace a master that does not answer for two seconds. extraArgs are arguments of redis-server
// for master and replica.
func StartSentinel(t testing.TB, extraArgs ...string) *Sentinel {
	t.Helper()
	return StartSentinelBehind(t, nil, extraArgs...)
}

// StartSentinelBehind is StartSentinel with a front for every server, the sentinels included.
func StartSentinelBehind(t testing.TB, f host.Front, extraArgs ...string) *Sentinel {
	t.Helper()
	c := &Sentinel{}
	for len(c.Servers) < 2 {
		c.Servers = append(c.Servers, StartBehind(t, f, append([]string{"--repl-diskless-sync-delay", "0"}, extraArgs...)...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	host, port, err := net.SplitHostPort(c.Servers[0].Addr)
	require.NoError(t, err)
	require.NoError(t, c.Servers[1].Client.ReplicaOf(ctx, host, port).Err())
	inSync := func() error { return inSync(ctx, c.Servers[1].Client) }
	require.NoError(t, poll(ctx, "the replica to be in sync", inSync))
	for range 3 {
		c.Sentinels = append(c.Sentinels, startSentinel(t, f, host, port))
	}
	require.NoError(t, c.WaitReady(ctx))
	return c
}

// startSentinel starts one sentinel. The sentinel writes its knowledge of the other servers into its
// configuration file.
func startSentinel(t testing.TB, f host.Front, master, port string) *Server {
	t.Helper()
	own, dir := host.Ports(t, 1)[0], t.TempDir()
	addr := f.Before(own)[0]
	file := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
logfile redis.log
sentinel announce-port %s
sentinel monitor %[4]s %s %s 2
sentinel down-after-milliseconds %[4]s 2000
sentinel failover-timeout %[4]s 5000
`, own, dir, portOf(addr), MasterName, master, port)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return launch(t, own, addr, file, "--sentinel", "--dir", dir)
}

// Addrs returns the addresses of the sentinels.
func (c *Sentinel) Addrs() []string { return addrs(c.Sentinels) }

// Master returns the server that all running sentinels name as the master. It is an error if that server does
// not have the role of a master.
func (c *Sentinel) Master(ctx context.Context) (*Server, error) {
	var master *Server
	for _, watcher := range running(c.Sentinels) {
		addr := redis.NewStringSliceCmd(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
		if err := watcher.Client.Process(ctx, addr); err != nil {
			return nil, err
		}
		for _, s := range c.Servers {
			if s.Addr != net.JoinHostPort(addr.Val()[0], addr.Val()[1]) {
				continue
			}
			if master != nil && master != s {
				return nil, errors.New("redisserver: the sentinels do not agree")
			}
			master = s
		}
	}
	if master == nil || master.process == nil {
		return nil, errors.New("redisserver: there is no master")
	}
	info, err := master.Client.Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "role:master") {
		err = fmt.Errorf("redisserver: %s is not a master yet", master.Addr)
	}
	return master, err
}

// WaitReady waits until the sentinels agree on a master and know each other and all running servers, and
// until the replica is in sync if it runs.
func (c *Sentinel) WaitReady(ctx context.Context) error {
	return poll(ctx, "the sentinels to be ready", func() error {
		master, err := c.Master(ctx)
		if err != nil {
			return err
		}
		for _, s := range running(c.Servers) {
			if s == master {
				continue
			}
			info, err := s.Client.Info(ctx, "replication").Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "role:slave") || !strings.Contains(info, "master_link_status:up") {
				return fmt.Errorf("%s is no replica in sync:\n%s", s.Addr, info)
			}
		}
		for _, s := range c.Sentinels {
			info, err := s.Client.Info(ctx, "sentinel").Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, fmt.Sprintf("status=ok,address=%s,slaves=1,sentinels=3", master.Addr)) {
				return fmt.Errorf("%s sees:\n%s", s.Addr, info)
			}
		}
		return nil
	})
}

// CutReplication disconnects the replica from its master until mend is called. Data that is written meanwhile
// is lost if the master is killed. Call mend even then.
func (c *Sentinel) CutReplication(ctx context.Context) (mend func(context.Context) error, err error) {
	master, err := c.Master(ctx)
	if err != nil {
		return nil, err
	}
	return cutReplication(ctx, master,
		slices.DeleteFunc(running(c.Servers), func(s *Server) bool { return s == master }))
}
