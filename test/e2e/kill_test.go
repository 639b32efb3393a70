package e2e

import (
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// While articles are published, one after another of three processes is killed with SIGKILL, and Redis stops
// answering for a while. Every record must still get one verdict, the same in each delivery, and no two
// copies may both be unique.
func TestKilledProcessesLoseNothing(t *testing.T) {
	const kills, slices = 3, 8
	const stall = time.Second
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	records := fresh(articles(t)[:1600])
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	redis := redisserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, redis.Addr)
	// A short session timeout, so that others serve the partitions of a killed process within the test.
	c.member = "judged"
	settings := c.settings().With(service.Settings{
		"output.verdict": "value", "output.member": c.member,
		"kafka.session_timeout": "2s", "kafka.drain_timeout": "1s", "kafka.commit_interval": "200ms",
	})
	services := make([]*service.Process, 3)
	for i := range services {
		services[i] = service.Start(t, settings)
	}
	for _, s := range services {
		s.WaitReady(t)
	}

	inputs := map[string]*kgo.Record{}
	var outputs []*kgo.Record
	var watching sync.WaitGroup
	watching.Go(func() { outputs = watch(t, c, len(records), func(int) {}) })
	killed := 0
	for i := range slices {
		for at, r := range publish(t, c, records[i*len(records)/slices:(i+1)*len(records)/slices]) {
			inputs[at] = r
		}
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		if i%2 == 1 && killed < kills {
			victim := random.IntN(len(services))
			require.False(t, services[victim].Ended())
			services[victim].Kill()
			services[victim] = service.Start(t, settings)
			killed++
		}
		if i == slices/2 {
			stallRedis(t, redis, services[0], stall)
		}
	}
	require.Equal(t, kills, killed)
	watching.Wait()
	require.False(t, t.Failed())
	for _, s := range services {
		s.WaitReady(t)
		stop(t, s)
	}

	seen := account(t, c, recipe, inputs, outputs)
	copies := checkVerdicts(t, recipe, indexConfig(recipe), decode.DefaultConfig(), window.Milliseconds(),
		inputs, seen)
	t.Logf("%d records, lost 0, contradictions 0, twins 0; %d copies; %d of %d outputs redelivered after %d kills",
		len(inputs), copies, len(outputs)-len(inputs), len(outputs), killed)
}

// stallRedis freezes Redis, waits until a service reports that at /readyz, waits for the duration stall, and
// lets Redis resume.
func stallRedis(t *testing.T, redis *redisserver.Server, s *service.Process, stall time.Duration) {
	t.Helper()
	require.NoError(t, syscall.Kill(redis.Pid(), syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(redis.Pid(), syscall.SIGCONT)) }()
	red := false
	for end := time.Now().Add(service.Patience); time.Now().Before(end) && !red; time.Sleep(100 * time.Millisecond) {
		red = strings.HasPrefix(s.Get("/readyz"), "503")
	}
	require.True(t, red, "/readyz must report 503 while Redis does not answer")
	time.Sleep(stall)
}
