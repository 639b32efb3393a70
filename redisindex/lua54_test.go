package redisindex

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/keyspace"
	"echosieve/test/host"
	"echosieve/test/redisrig"
)

// table takes the place of Redis for the scripts, in Lua.
const table = `local data = {}
redis = {call = function(name, key, ...)
  local h, a = data[key] or {}, {...}
  if name == 'TTL' then return next(h) and 0 or -2 end
  if name == 'HGET' then return h[a[1]] or false end
  for n, f in ipairs(a) do if name == 'HMGET' then a[n] = h[f] or false end end
  for n = 1, #a, 2 do if name == 'HSET' then h[a[n]] = a[n + 1] end end
  data[key] = h
  return a
end}
`

// loaded has the source of the script that a client loads.
type loaded struct {
	redisrig.NoHook
	source string
}

// ProcessHook implements redis.Hook.
func (l *loaded) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		l.source = cmd.Args()[2].(string)
		return nil
	}
}

// ProcessPipelineHook implements redis.Hook.
func (l *loaded) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Dragonfly runs scripts in Lua 5.4, which lacks names of Redis' Lua 5.1 and tells integers from other numbers.
func TestScriptsRunInLua54(t *testing.T) {
	host.SkipShort(t)
	client, l := redis.NewClient(&redis.Options{}), &loaded{}
	client.AddHook(l)
	a := redisrig.Article(1, 5)
	e := keyspace.Entry{Article: a}
	fp, digest, entry := e.Field().Name(), string(a.Digest[:]), string(e.Append(nil, 0))
	first, second := keyspace.TicketBytes(7), keyspace.TicketBytes(9)
	lua := func(bytes string) (quoted string) {
		for _, b := range []byte(bytes) {
			quoted += fmt.Sprintf(`\x%02x`, b)
		}
		return `"` + quoted + `"`
	}
	text, want := table, ""
	for _, call := range []struct {
		script *redis.Script
		key    string
		args   []string
		reply  string
	}{
		{addScript, "lists", []string{"60", "8", "512", "x", "y", fp, fp + fp}, "0 0"},
		{storeScript, "entries", []string{fp, digest, entry, "4", "60", strings.Repeat("h", 16)}, "0"},
		{storeScript, "entries", []string{fp, digest, entry, "4", "60", strings.Repeat("h", 16)}, entry},
		{ticketScript, "entries", []string{fp, digest, first}, first},
		{withdrawScript, "entries", []string{fp, digest, first}, "1"},
		{ticketScript, "entries", []string{fp, digest, second}, second},
		{decideScript, "entries", []string{fp, digest, second, "v"}, "v"},
		{mendScript, "entries", []string{fp, "read before", ""}, "0"},
	} {
		require.NoError(t, call.script.Load(t.Context(), client).Err())
		for i, arg := range call.args {
			call.args[i] = lua(arg)
		}
		text += fmt.Sprintf("KEYS, ARGV = {%q}, {%s}\nlocal r = assert(load(%s))()\n"+
			"print(type(r) == 'table' and table.concat(r, ' ') or r)\n", call.key, strings.Join(call.args, ", "), lua(l.source))
		want += call.reply + "\n"
	}
	program := exec.CommandContext(t.Context(), "lua5.4", "-")
	program.Stdin = strings.NewReader(text)
	got, err := program.CombinedOutput()
	require.NoError(t, err, "%s", got)
	require.Equal(t, want, string(got))
}
