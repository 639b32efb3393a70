package redisindex

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/test/redisrig"
)

// The scripts run in Lua 5.4. The suites in onServers test the same at length; they would wait for ever for a
// script that fails.
func TestScriptsRunInLua54(t *testing.T) {
	x := newIndex(t, redisrig.Client(t, redisrig.StartLua54(t)), redisrig.Config(redisrig.Standard))
	for n := range 2 {
		_, err := x.attempt(t.Context(), []article.Article{redisrig.Article(n, 1)}, newCall(x, nil))
		require.NoError(t, err)
	}
}
