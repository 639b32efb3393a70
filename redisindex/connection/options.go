// Package connection is the way to Redis: how to reach the servers, how their replicas are waited for, which
// rights the user needs, and what a server's fault means.
package connection

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/remote"
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

	Cluster bool       `setting:"cluster" help:"Addrs belong to a Redis Cluster."`
	TLS     remote.TLS `setting:"tls"`
	// Timeout is the longest wait for a connection, a read or a write.
	Timeout time.Duration `setting:"-"`
	// WaitReplicas is the number of replicas of each master that must have all writes of a step before the
	// next step begins. While fewer replicas are in reach, Claim blocks.
	WaitReplicas int `setting:"wait_replicas" range:"0..100"`
	// WaitTimeout is the longest wait of one step for the replicas. After it the claim is run again. 0: a second.
	WaitTimeout time.Duration `setting:"-"`
}

// DefaultOptions returns the options for a server on this machine.
func DefaultOptions() Options {
	return Options{Addrs: []string{"127.0.0.1:6379"}, Timeout: 5 * time.Second}
}

// Validate returns all mistakes in the options, joined; nil if there are none. It neither dials nor reads
// files. The ranges in the tags of the fields are checked by package config.
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
		if err := remote.CheckAddress(addr, port); err != nil {
			errs = append(errs, fmt.Errorf("addrs %w", err))
		}
	}
	for _, f := range []struct {
		bad  bool
		text string
	}{
		{len(o.Addrs) == 0, "addrs is empty, needs at least one host:port"},
		{o.Cluster && o.MasterName != "", "cluster and master_name exclude each other: keep one of them"},
		{!o.Cluster && o.MasterName == "" && len(o.Addrs) > 1,
			"addrs has several servers: set cluster or master_name as well, or keep one server"},
		{o.MasterName == "" && o.SentinelUsername+o.SentinelPassword != "",
			"sentinel_username and sentinel_password need master_name"},
		{o.Username != "" && o.Password == "", noPassword("username", "password")},
		{o.SentinelUsername != "" && o.SentinelPassword == "", noPassword("sentinel_username", "sentinel_password")},
		{o.Cluster && o.DB != 0, "db must be 0 with cluster"},
	} {
		if f.bad {
			errs = append(errs, errors.New(f.text))
		}
	}
	return errors.Join(append(errs, o.TLS.Validate())...)
}

// noPassword says that a user has no password. The client would not log in at all then: it would be the
// default user, with other rights.
func noPassword(username, password string) string {
	return fmt.Sprintf("%s is set without %s, and would not be used: set %s_file, or remove %s (a user with "+
		"nopass takes any password)", username, password, password, username)
}

// Connect returns a client for the options; the caller closes it. It reads the TLS files, but does not dial:
// the client connects when it is used. The client does not retry, because Index.Claim does, and counts and
// logs its retries.
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
		// RESP2. RESP3 has nothing that the index needs, and with it go-redis checks for pushed messages
		// before each reply.
		Protocol: 2, PoolSize: 16, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		ContextTimeoutEnabled: true, TLSConfig: tlsConfig,
		// CLIENT SETINFO needs a separate right, and Redis before 7.2 refuses an ACL rule that names this right.
		DisableIdentity: true,
		// Notices of maintenance need RESP3. With them enabled, go-redis resolves the name of each server
		// while the client is made.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if o.WaitReplicas > 0 {
		replication{o.WaitReplicas, cmp.Or(o.WaitTimeout, time.Second).Milliseconds()}.attach(client)
	}
	return client, nil
}

// SilenceClients makes go-redis print no messages to standard error: every error is returned as well. It changes all
// clients of the process, so a program calls it once, at its start; this package never does.
func SilenceClients() { logging.Disable() }
