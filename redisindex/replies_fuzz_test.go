package redisindex

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/test/redisrig"
)

// tamperer replaces the replies of a server, one after another: an empty text leaves a reply as it is.
type tamperer struct {
	redisrig.NoHook
	replies []string
}

// ProcessPipelineHook implements redis.Hook.
func (h *tamperer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if len(h.replies) == 0 {
				break
			}
			text := h.replies[0]
			h.replies = h.replies[1:]
			if text != "" {
				tamper(cmd, text)
			}
		}
		return err
	}
}

func tamper(cmd redis.Cmder, text string) {
	var list []any
	for _, word := range strings.Split(text, ",") {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			list = append(list, n)
		} else if word == "nil" {
			list = append(list, nil)
		} else {
			list = append(list, word)
		}
	}
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		cmd.SetVal(text)
	case *redis.SliceCmd:
		cmd.SetVal(list)
	case *redis.StringSliceCmd:
		cmd.SetVal(strings.Split(text, ","))
	case *redis.IntCmd:
		cmd.SetVal(int64(len(text)))
	case *redis.Cmd:
		if len(list) == 1 {
			cmd.SetVal(list[0])
		} else {
			cmd.SetVal(list)
		}
	}
}

// Whatever a server replies, a claim ends with verdicts or with an error. It never panics. "~" stands between replies.
func FuzzReplies(f *testing.F) {
	f.Add("")
	for i := range 12 { // each step in turn
		for _, text := range []string{"hello", "nil", "7,8", "-1", "hello,nil,7", strings.Repeat("\x00", 60)} {
			f.Add(strings.Repeat("~", i) + text)
		}
	}
	f.Fuzz(func(t *testing.T, replies string) {
		addr, cfg := miniredis.RunT(t).Addr(), redisrig.Config(redisrig.Standard)
		near, c := redisrig.Article(2, 4), redisrig.Article(1, 5)
		claimOne(t, newIndex(t, redisrig.Client(t, addr), cfg), near)
		client := redisrig.Client(t, addr)
		require.NoError(t, connection.LoadScripts(t.Context(), client, scripts...))
		client.AddHook(&tamperer{replies: strings.Split(replies, "~")})
		x := newIndex(t, client, cfg)
		x.session = connection.NewSession(client, "") // the server has the scripts
		(&hands{}).drive(t, x)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		verdicts, err := x.run(ctx, []article.Article{c}, newCall(x, nil))
		require.False(t, errors.Is(ctx.Err(), context.DeadlineExceeded), "the claim does not end")
		require.True(t, err != nil || len(verdicts) == 1)
	})
}
