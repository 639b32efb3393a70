package redisindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/base/diag"
	"echosieve/internal/base/hostport"
	"echosieve/internal/base/tlsfiles"
)

// Options say how to reach Redis: a single server, a server behind Sentinel (MasterName), or a cluster (Cluster).
type Options struct {
	Addrs      []string `setting:"addrs" help:"host:port of the server, the sentinels or some cluster nodes."`
	Username   string   `setting:"username" help:"ACL user; empty: the default user."`
	Password   string   `setting:"password" secret:"true" help:"password; prefer password_file or the environment."`
	DB         int      `setting:"db" range:"0..65535" help:"Database number; a cluster has only 0."`
	MasterName string   `setting:"master_name" help:"Master that the sentinels watch; addrs are sentinels then."`
	// The login at the sentinels. It may differ from the login at the servers.
	SentinelUsername string `setting:"sentinel_username" help:"ACL user at the sentinels; empty: the default user."`
	SentinelPassword string `setting:"sentinel_password" secret:"true" help:"Password of the sentinels; empty: none."`

	Cluster  bool            `setting:"cluster" help:"Addrs belong to a Redis Cluster."`
	PoolSize int             `setting:"pool_size" range:"1..10000" help:"Most connections to one server. Lower it if Redis refuses connections."`
	Timeout  time.Duration   `setting:"timeout" range:"10ms..10m" help:"Longest wait for a connection, a read or a write."`
	TLS      tlsfiles.Config `setting:"tls"`
	// WaitReplicas is the number of replicas of each master that must have all writes of a step before the next step begins. While
	// fewer replicas are in reach, Claim blocks.
	WaitReplicas int `setting:"wait_replicas" range:"0..100" help:"Replicas per master that must have a write before a verdict counts. 0: a failover can lose articles, whose copies pass as unique. Raised: slower, and claims wait while replicas are away."`
	// WaitTimeout is the longest wait of one step for the replicas. After it the batch is run again.
	WaitTimeout time.Duration `setting:"wait_timeout" range:"1ms..10m" help:"Longest wait for wait_replicas before a retry; below timeout."`
}

// DefaultOptions returns the options for a server on this machine.
func DefaultOptions() Options {
	return Options{Addrs: []string{"127.0.0.1:6379"}, PoolSize: 16, Timeout: 5 * time.Second, WaitTimeout: time.Second}
}

// Validate returns all mistakes in the options, joined; nil if there are none. It neither dials nor reads files.
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
		{o.Username != "" && o.Password == "", noPassword("username", "password")},
		{o.SentinelUsername != "" && o.SentinelPassword == "", noPassword("sentinel_username", "sentinel_password")},
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

// noPassword says that a user has no password. The client would not log in at all then: it would be the default user, with other rights.
func noPassword(username, password string) string {
	return fmt.Sprintf("%s is set without %s, and would not be used: set %s_file, or remove %s (a user with nopass takes any password)", username, password, password, username)
}

// Connect returns a client for the options; the caller closes it. It reads the TLS files, but does not dial: the client connects when it
// is used. The client does not retry, because Index.Claim does, and counts and logs its retries.
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
		// RESP2. RESP3 has nothing that the index needs, and with it go-redis checks for pushed messages before each reply.
		Protocol: 2, PoolSize: o.PoolSize, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		ContextTimeoutEnabled: true, TLSConfig: tlsConfig,
		// CLIENT SETINFO needs a separate right, and Redis before 7.2 refuses an ACL rule that names this right.
		DisableIdentity: true,
		// Notices of maintenance need RESP3. With them enabled, go-redis resolves the name of each server while the client is made.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if o.WaitReplicas > 0 {
		replication{o.WaitReplicas, o.WaitTimeout.Milliseconds()}.attach(client)
	}
	return client, nil
}

// silentLogger drops the messages that go-redis prints to standard error. Every error is returned to the caller as well.
type silentLogger struct{}

func (silentLogger) Printf(context.Context, string, ...any) {}

// SilenceClients makes go-redis print no messages to standard error. It changes all clients of the process, so a program calls it once, at
// its start; this package never does.
func SilenceClients() { redis.SetLogger(silentLogger{}) }

// errReplicas says that writes reached fewer replicas than Options.WaitReplicas. The batch is run again. It finds its entries, which are
// stored already, and waits for their replicas.
var errReplicas = errors.New("too few replicas have the writes")

// replication is a hook that makes a client wait for replicas: it appends a write, the fence, and WAIT to each pipeline.
//
// WAIT counts the replicas that have all writes up to the connection's last command, so it must be sent on the connection of the
// commands. A cluster client splits a pipeline by node inside the client. So the hook is attached to the clients of the nodes,
// where each part, with redirected commands, is one pipeline on one connection.
//
// Every step waits, not only the steps that store entries and verdicts:
//
//   - If a failover took back a ticket, a later article would draw it again, and would not know that it is the later one.
//   - A master that was cut off or frozen may have been replaced without knowing it. Its replies are outdated then.
//
// WAIT alone does not notice the replaced master: its replicas acknowledged all of its earlier writes. The fence is a write that is
// newer than the replies. A replica that acknowledges the fence still followed this master when the replies were made. While a slot
// moves to another node, the fence may be redirected there, and WAIT stands alone.
type replication struct {
	replicas int
	millis   int64 // longest wait, in milliseconds
}

// attach adds the hook to a client. The client must not have been used yet.
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

// ProcessHook implements redis.Hook. It adds nothing, because the index makes all writes that must last in pipelines.
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
		// A cluster client takes errors from the commands only. Commands with an error keep it: they were redirected to
		// another node, where they are run again, with a fence and WAIT of that node.
		for _, cmd := range cmds {
			if err := cmd.Err(); err == nil || errors.Is(err, redis.Nil) {
				cmd.SetErr(lack)
			}
		}
		return lack
	}
}

// lack returns the reason why too few replicas have the writes; nil if enough have them.
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

// fenceKey is a key below the namespace, in the slot of the first key of the commands. Its hash tag is that whole key. If the
// namespace has a hash tag, that tag comes first in both keys, and so decides the slot of both.
func fenceKey(cmds []redis.Cmder) string {
	key := keyOf(cmds[slices.IndexFunc(cmds, aboutKeys)])
	return key + "{" + key + "}"
}

// aboutKeys is false for commands about the connection, and for MEMORY USAGE, whose first argument is no key. go-redis runs the handshakes of new connections through pipeline hooks. If they
// ended in WAIT, connections to replicas would fail, because replicas refuse WAIT.
func aboutKeys(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client", "select", "readonly", "ping", "asking", "wait", "memory":
		return false
	default:
		return true
	}
}

// reloadTime is how long the cluster client may take to ask which nodes are masters now. After that, the masters that it knew before
// are used. Without a bound, a replica that accepts the question and never answers would block the caller.
const reloadTime = time.Second

// eachMaster calls f for all masters at the same time, and waits. It returns an error if the masters are not known.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, *redis.Client)) error {
	switch c := client.(type) {
	case *redis.Client:
		f(ctx, c)
	case *redis.ClusterClient:
		reload, cancel := context.WithTimeout(ctx, reloadTime)
		defer cancel()
		return c.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error {
			f(ctx, master)
			return nil
		})
	}
	return nil
}

// nodeName is the address of a master. Behind Sentinel it is "master", because the client does not know the address.
func nodeName(node *redis.Client) string {
	if addr := node.Options().Addr; addr != "FailoverClient" {
		return addr
	}
	return "master"
}

// eachServer calls ask for every server behind client, and returns all findings. On a cluster these are the masters and the replicas,
// because each replica may become a master. Behind Sentinel it is the master only, because the client knows no other server.
func eachServer(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) []diag.Finding) []diag.Finding {
	switch c := client.(type) {
	case *redis.Client:
		return ask(ctx, c)
	case *redis.ClusterClient:
		var mu sync.Mutex // ForEachShard asks all servers at the same time
		var findings []diag.Finding
		err := c.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
			found := ask(ctx, server)
			mu.Lock()
			defer mu.Unlock()
			findings = append(findings, found...)
			return nil
		})
		if err != nil {
			findings = append(findings, diag.New(diag.Failure, "redis cluster", err.Error(), "check the cluster's state with CLUSTER INFO"))
		}
		slices.SortStableFunc(findings, func(a, b diag.Finding) int { return cmp.Compare(a.Subject, b.Subject) })
		return findings
	}
	return nil
}

// Ping asks every server that Claim needs whether it answers. On a cluster these are all masters, because the keys of an article
// lie on all of them. The cluster client's PING is not enough: it asks one node, and another node if the first does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return reach(ctx, client, client.Ping(ctx).Err())
	}
	reload, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	return reach(ctx, client, cluster.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error { return master.Ping(ctx).Err() }))
}

// endpoint is where a client connects to, and how. The addresses of sentinels are not known.
type endpoint struct {
	user  string // empty: the user "default"
	addrs []string
	tls   bool
}

func endpointOf(client redis.UniversalClient) endpoint {
	switch c := client.(type) {
	case *redis.Client:
		o := c.Options()
		return endpoint{o.Username, []string{o.Addr}, o.TLSConfig != nil}
	case *redis.ClusterClient:
		o := c.Options()
		return endpoint{o.Username, o.Addrs, o.TLSConfig != nil}
	default:
		return endpoint{}
	}
}

// reachTime bounds reach.
const reachTime = 3 * time.Second

// reach finds out why PING was not answered: a server without TLS waits for more of what it takes for a command, and a server of another kind
// closes the connection or answers in another protocol. It returns a *diag.Problem if it finds out, else the error.
func reach(ctx context.Context, client redis.UniversalClient, err error) error {
	var reply redis.Error
	if err == nil || errors.As(err, &reply) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the server has used it up
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	at := endpointOf(client)
	for _, addr := range at.addrs {
		switch speaks := diag.Speaks(ctx, addr); {
		case speaks == diag.SpeaksRedis && at.tls:
			return server.NotTLS(err)
		case speaks == diag.SpeaksKafka, speaks == diag.SpeaksController, speaks == diag.SpeaksHTTP:
			return &diag.Problem{Cause: addr + " speaks " + speaks + ", not Redis", Remedy: "set redis.addrs to the servers of Redis, port 6379 as a rule", Err: err, Permanent: true}
		}
	}
	return err
}
