package redisindex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
)

// CheckReplicas says what a failover would cost: whether every master has the replicas that claims are to wait for, and
// whether they should wait at all.
func CheckReplicas(ctx context.Context, client redis.UniversalClient, o Options) []diag.Finding {
	return eachServer(ctx, client, func(ctx context.Context, server *redis.Client) []diag.Finding {
		subject := server.Options().Addr + " replicas"
		info, err := server.Info(ctx, "replication").Result()
		if err != nil {
			if o.WaitReplicas == 0 {
				return nil
			}
			return []diag.Finding{diag.New(diag.Note, subject, "could not be found out: "+err.Error(),
				fmt.Sprintf("make sure that there are at least redis.wait_replicas (%d)", o.WaitReplicas))}
		}
		role, replicas := replicationOf(info)
		switch {
		case role != "master":
			return nil
		case replicas < o.WaitReplicas:
			return []diag.Finding{diag.New(diag.Failure, subject, fmt.Sprintf("has %d, but claims wait for %d: nothing would be answered", replicas, o.WaitReplicas),
				"start replicas, or lower redis.wait_replicas")}
		case replicas > 0 && o.WaitReplicas == 0:
			return []diag.Finding{diag.New(diag.Note, subject, "claims do not wait for them: a failover can lose the latest writes, and copies of what was lost pass as unique",
				"set redis.wait_replicas to 1")}
		}
		return nil
	})
}

// replicationOf takes role and number of replicas from INFO replication.
func replicationOf(info string) (role string, replicas int) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "role":
			role = value
		case "connected_slaves":
			replicas, _ = strconv.Atoi(value)
		}
	}
	return role, replicas
}

// eachServer asks every server behind client: of a cluster all masters and replicas, for each may be a master next;
// behind Sentinel only the master, which is all that the client knows.
func eachServer(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) []diag.Finding) []diag.Finding {
	switch c := client.(type) {
	case *redis.Client:
		return ask(ctx, c)
	case *redis.ClusterClient:
		var mu sync.Mutex // ForEachShard calls for all servers at the same time
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
