package redisindex

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/hostport"
	"echosieve/internal/tlsfiles"
)

// Options say how to reach Redis: a single server, one behind Sentinel (MasterName) or a cluster (Cluster).
type Options struct {
	Addrs      []string `koanf:"addrs" help:"host:port of the server, of the sentinels, or of some cluster nodes"`
	Username   string   `koanf:"username" help:"ACL user; empty: the default user"`
	Password   string   `koanf:"password" secret:"true" help:"password; better in password_file or the environment"`
	DB         int      `koanf:"db" help:"database number; a cluster has only 0"`
	MasterName string   `koanf:"master_name" help:"name of the master that the sentinels watch; addrs are sentinels then"`
	// The sentinels' own login, which may differ from the servers'.
	SentinelUsername string `koanf:"sentinel_username" help:"ACL user at the sentinels; empty: the default user"`
	SentinelPassword string `koanf:"sentinel_password" secret:"true" help:"password of the sentinels; empty: they want none"`

	Cluster  bool            `koanf:"cluster" help:"addrs belong to a Redis Cluster"`
	PoolSize int             `koanf:"pool_size" help:"most connections to one server"`
	Timeout  time.Duration   `koanf:"timeout" help:"longest wait for a connection, a read or a write"`
	TLS      tlsfiles.Config `koanf:"tls"`
	// WaitReplicas is the number of replicas that must have a write before the next step relies on it. With fewer in
	// reach, claims block.
	WaitReplicas int `koanf:"wait_replicas" help:"replicas of each master that must have what was written before a verdict counts; 0: a failover can lose the latest writes, and copies of what was lost pass as unique"`
	// WaitTimeout is how long one step waits for the replicas before the batch is run again.
	WaitTimeout time.Duration `koanf:"wait_timeout" help:"longest wait for wait_replicas before the batch is tried again; shorter than timeout"`
}

// DefaultOptions returns the options for a server on this machine.
func DefaultOptions() Options {
	return Options{Addrs: []string{"127.0.0.1:6379"}, PoolSize: 16, Timeout: 5 * time.Second, WaitTimeout: time.Second}
}

// Validate says everything that is wrong with the options, without dialling or reading files.
func (o Options) Validate() error {
	var errs []error
	port := "6379"
	if o.MasterName != "" {
		port = "26379"
	}
	for _, addr := range o.Addrs {
		if strings.HasPrefix(addr, "/") { // a Unix socket
			continue
		}
		if err := hostport.Check(addr, port); err != nil {
			errs = append(errs, fmt.Errorf("addrs %w", err))
		}
	}
	for _, f := range []struct {
		bad  bool
		text string
	}{
		{len(o.Addrs) == 0, "addrs is empty, needs at least one host:port"},
		{o.Cluster && o.MasterName != "", "cluster and master_name exclude each other: keep one of them"},
		{!o.Cluster && o.MasterName == "" && len(o.Addrs) > 1, "addrs has several servers: set cluster or master_name as well, or keep one server"},
		{o.MasterName == "" && o.SentinelUsername+o.SentinelPassword != "", "sentinel_username and sentinel_password need master_name"},
		{o.DB < 0, "db must not be negative"},
		{o.Cluster && o.DB != 0, "db must be 0 with cluster"},
		{o.PoolSize < 1, "pool_size must be at least 1"},
		{o.Timeout < 10*time.Millisecond, "timeout must be at least 10ms"},
		{o.WaitReplicas < 0, "wait_replicas must not be negative"},
		{o.WaitReplicas > 0 && (o.WaitTimeout < time.Millisecond || o.WaitTimeout >= o.Timeout), "wait_timeout must be at least 1ms and less than timeout"},
	} {
		if f.bad {
			errs = append(errs, errors.New(f.text))
		}
	}
	return errors.Join(append(errs, o.TLS.Validate())...)
}

// Connect returns a client for the options; the caller closes it. It reads the files named, but does not dial:
// connections are made when needed. Retries are left to Index.Claim, which counts and logs them.
func Connect(o Options) (redis.UniversalClient, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("redisindex: %w", err)
	}
	tlsConfig, err := o.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("redisindex: redis.%w", err)
	}
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: o.Addrs, Username: o.Username, Password: o.Password, DB: o.DB,
		MasterName: o.MasterName, SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
		IsClusterMode: o.Cluster, ClientName: "echosieve",
		// RESP3 has nothing that we need, and looks for pushed messages before every reply.
		Protocol: 2, PoolSize: o.PoolSize, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		ContextTimeoutEnabled: true, TLSConfig: tlsConfig,
		// CLIENT SETINFO would need a right that servers before 7.2 cannot even be told about.
		DisableIdentity: true,
		// Notices of maintenance need RESP3, and making a client would wait for the name service to hear where each server is.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if o.WaitReplicas > 0 {
		replication{o.WaitReplicas, o.WaitTimeout.Milliseconds()}.attach(client)
	}
	return client, nil
}

// quiet swallows what go-redis would print to standard error by itself: every error is returned to us as well.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }

// errReplicas says that writes reached fewer replicas than Options.WaitReplicas. The batch is run again: what is
// there already is found, and waited for.
var errReplicas = errors.New("too few replicas have the writes")

// replication makes a client wait for replicas: each pipeline ends in a write, the fence, and a WAIT. WAIT counts the
// replicas that have what the server had written when it ran the connection's last command, so it must travel with the
// commands. A pipeline of a cluster client is split by node only inside the client; hence the hook sits on the clients
// of the nodes, where each part, redirected commands included, is one pipeline on one connection.
//
// All steps wait, not only the ones that store entry and verdict. A ticket that a failover takes back would be
// drawn again by a later article, which would then not see that it is the later one. And what a master answers to a
// look counts only if it still is the master: one that was cut off, or frozen, may have been replaced without knowing
// it, and shows old data. WAIT alone lets that pass, for the replica once acknowledged all there was. The fence is newer
// than the answers: a replica that acknowledges it followed this master when they were given. While a slot moves,
// the fence may be redirected, and WAIT stands alone.
type replication struct {
	replicas int
	millis   int64 // longest wait
}

// attach adds the hook to a client that has not been used yet.
func (r replication) attach(client redis.UniversalClient) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(r) })
		return
	}
	client.AddHook(r)
}

// DialHook implements redis.Hook.
func (r replication) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook. Nothing that must last is written outside pipelines.
func (r replication) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (r replication) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !slices.ContainsFunc(cmds, aboutKeys) {
			return next(ctx, cmds)
		}
		fence := redis.NewStatusCmd(ctx, "SET", fenceKey(cmds), "", "EX", 1)
		wait := redis.NewIntCmd(ctx, "WAIT", r.replicas, r.millis)
		err := next(ctx, append(slices.Clip(cmds), fence, wait))
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		lack := r.lack(fence, wait)
		if lack == nil {
			return nil
		}
		// A cluster client takes errors from the commands alone. Those with an error are left: they were redirected,
		// and are answered, and waited for, on another node.
		for _, cmd := range cmds {
			if err := cmd.Err(); err == nil || errors.Is(err, redis.Nil) {
				cmd.SetErr(lack)
			}
		}
		return lack
	}
}

// lack says why the replicas cannot be counted on; nil: they can.
func (r replication) lack(fence *redis.StatusCmd, wait *redis.IntCmd) error {
	if err := fence.Err(); err != nil && !isRedirect(err) {
		return fmt.Errorf("%w: %w", errReplicas, err)
	}
	if err := wait.Err(); err != nil {
		return fmt.Errorf("%w: %w", errReplicas, err)
	}
	if wait.Val() < int64(r.replicas) {
		return fmt.Errorf("%w: %d of %d", errReplicas, wait.Val(), r.replicas)
	}
	return nil
}

// fenceKey is a key below the namespace and in the slot of the first key of the commands. That whole key is its hash tag,
// unless the namespace holds one: then that comes first, in both.
func fenceKey(cmds []redis.Cmder) string {
	key := keyOf(cmds[slices.IndexFunc(cmds, aboutKeys)])
	return key + "{" + key + "}"
}

// aboutKeys is false for what is about the connection: with that the client opens one, also to replicas, which do not
// know WAIT.
func aboutKeys(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client", "select", "readonly", "ping", "asking", "wait":
		return false
	default:
		return true
	}
}
