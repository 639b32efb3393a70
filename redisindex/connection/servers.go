package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
)

// reloadTime is how long the cluster client may take to ask which nodes are masters now. After that, the
// masters that it knew before are used. Without a bound, a replica that accepts the question and never
// answers would block the caller.
const reloadTime = time.Second

// EachMaster calls f for all masters at the same time, and waits. It returns an error of f, or that the masters are
// not known.
func EachMaster(ctx context.Context, client redis.UniversalClient,
	f func(context.Context, *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.Client:
		return f(ctx, c)
	case *redis.ClusterClient:
		reload, cancel := context.WithTimeout(ctx, reloadTime)
		defer cancel()
		return c.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error { return f(ctx, master) })
	}
	return fmt.Errorf("a %T has no servers", client)
}

// NodeName is the address of a master. Behind Sentinel it is "master", because the client does not know the address.
func NodeName(node *redis.Client) string {
	if addr := node.Options().Addr; addr != "FailoverClient" {
		return addr
	}
	return "master"
}

// eachServer calls ask for every server behind client, and returns all findings. On a cluster these are the
// masters and the replicas, because each replica may become a master. Behind Sentinel it is the master only,
// because the client knows no other server.
func eachServer(ctx context.Context, client redis.UniversalClient,
	ask func(context.Context, *redis.Client) []diag.Finding) []diag.Finding {
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
			findings = append(findings, diag.New(diag.Failure, "redis cluster", err.Error(),
				"check the cluster's state with CLUSTER INFO"))
		}
		slices.SortStableFunc(findings, func(a, b diag.Finding) int { return cmp.Compare(a.Subject, b.Subject) })
		return findings
	}
	return nil
}

// Ping asks every server that Claim needs whether it answers. On a cluster these are all masters, because the
// keys of an article lie on all of them. The cluster client's PING is not enough: it asks one node, and
// another node if the first does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	return reach(ctx, client, EachMaster(ctx, client, func(ctx context.Context, master *redis.Client) error {
		return master.Ping(ctx).Err()
	}))
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

// reach finds out why PING was not answered: a server without TLS waits for more of what it takes for a
// command, and a server of another kind closes the connection or answers in another protocol. It returns a
// *diag.Problem if it finds out, else the error.
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
			return &diag.Problem{Cause: addr + " speaks " + speaks + ", not Redis", Err: err, Permanent: true,
				Remedy: "set redis.addrs to the servers of Redis, port 6379 as a rule"}
		}
	}
	return err
}
