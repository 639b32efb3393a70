package redisindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/hostport"
	"echosieve/internal/tlsfiles"
)

// Options say how to reach Redis: a single server, one behind Sentinel (MasterName) or a cluster (Cluster).
type Options struct {
	Addrs      []string `koanf:"addrs" help:"host:port of the server, the sentinels or some cluster nodes."`
	Username   string   `koanf:"username" help:"ACL user; empty: the default user."`
	Password   string   `koanf:"password" secret:"true" help:"password; prefer password_file or the environment."`
	DB         int      `koanf:"db" help:"Database number; a cluster has only 0."`
	MasterName string   `koanf:"master_name" help:"Master that the sentinels watch; addrs are sentinels then."`
	// The sentinels' own login, which may differ from the servers'.
	SentinelUsername string `koanf:"sentinel_username" help:"ACL user at the sentinels; empty: the default user."`
	SentinelPassword string `koanf:"sentinel_password" secret:"true" help:"Password of the sentinels; empty: none."`

	Cluster  bool            `koanf:"cluster" help:"Addrs belong to a Redis Cluster."`
	PoolSize int             `koanf:"pool_size" help:"Most connections to one server. Lower it if Redis refuses connections."`
	Timeout  time.Duration   `koanf:"timeout" help:"Longest wait for a connection, a read or a write."`
	TLS      tlsfiles.Config `koanf:"tls"`
	// WaitReplicas is the number of replicas that must have a write before the next step relies on it. With fewer in
	// reach, claims block.
	WaitReplicas int `koanf:"wait_replicas" help:"Replicas per master that must have a write before a verdict counts. 0: a failover can lose articles, whose copies pass as unique. Raised: slower, and claims wait while replicas are away."`
	// WaitTimeout is how long one step waits for the replicas before the batch is run again.
	WaitTimeout time.Duration `koanf:"wait_timeout" help:"Longest wait for wait_replicas before a retry; below timeout."`
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
