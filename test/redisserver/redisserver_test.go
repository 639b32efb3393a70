package redisserver

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestRestart(t *testing.T) {
	s := Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	pid := s.Pid()
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	s.Kill()
	require.Error(t, client.Ping(t.Context()).Err())
	s.Restart()
	require.NotEqual(t, pid, s.Pid())
	require.Equal(t, "v", client.Get(t.Context(), "k").Val(), "kept by the append-only file")
}
