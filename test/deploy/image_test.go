//go:build image

package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
)

const (
	patience = 4 * time.Minute
	verdicts = 20
)

// engine runs buildah and podman with a storage of the test.
type engine struct {
	t       *testing.T
	root    string // of the repository
	storage []string
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	require.Zero(t, os.Getuid(), "chroot and containers need root: sudo make image-test")
	dir := t.TempDir()
	return &engine{t: t, root: host.Root(t), storage: []string{"--storage-driver", "vfs", "--root",
		filepath.Join(dir, "storage"), "--runroot", filepath.Join(dir, "run")}}
}

// run runs a program in the repository and returns what it prints on standard output.
func (e *engine) run(ctx context.Context, name string, args ...string) string {
	e.t.Helper()
	return strings.TrimSpace(outputOf(ctx, e.t, e.root, name, args...))
}

func (e *engine) buildah(args ...string) string {
	e.t.Helper()
	return e.run(e.t.Context(), "buildah", append(e.storage, args...)...)
}

// podman works in cleanups, too, when the context of the test has ended.
func (e *engine) podman(args ...string) string {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), patience)
	defer cancel()
	return e.run(ctx, "podman", append(append(e.storage, "--runtime", "runc"), args...)...)
}

// logs returns what a container has printed.
func (e *engine) logs(container string) string {
	out, err := exec.Command("podman", append(e.storage, "--runtime", "runc", "logs", container)...).CombinedOutput()
	return fmt.Sprintf("%s%v", out, err)
}

// base makes the image that the Dockerfile builds in, of Debian's packages and the Go of this machine, under
// the name that the Dockerfile asks for.
func (e *engine) base() {
	e.t.Helper()
	from := regexp.MustCompile(`(?m)^FROM (golang:(\S+)-(\w+)) AS build$`).FindStringSubmatch(
		host.Read(e.t, "deploy/Dockerfile"))
	require.NotNil(e.t, from)
	debian := filepath.Join(e.t.TempDir(), "debian")
	e.run(e.t.Context(), "debootstrap", "--variant=minbase", "--include=ca-certificates", from[3], debian)
	container := e.buildah("from", "scratch")
	e.buildah("copy", "-q", container, debian, "/")
	e.buildah("copy", "-q", container, e.run(e.t.Context(), "go", "env", "GOROOT"), "/usr/local/go")
	e.buildah("config", "--env", "PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--env", "GOTOOLCHAIN=local",
		container)
	e.buildah("commit", "-q", "--rm", container, "docker.io/library/"+from[1])
}

// build builds a target of the Dockerfile. Modules come from the cache of this machine, where it has them.
func (e *engine) build(target, tag string) {
	e.t.Helper()
	modules := e.run(e.t.Context(), "go", "env", "GOMODCACHE")
	proxies := e.run(e.t.Context(), "go", "env", "GOPROXY")
	e.buildah("bud", "--isolation", "chroot", "--pull-never", "--layers=false", "--target", target, "--tag", tag,
		"--file", "deploy/Dockerfile",
		"--volume", modules+"/cache/download:/modules:ro", "--build-arg", "GOPROXY=file:///modules,"+proxies,
		"--build-arg", "VERSION=9.8.7", ".")
}

// start runs a service of docker-compose.yml with the rights that the file gives it, and with further arguments.
func (e *engine) start(s types.ServiceConfig, image string, args ...string) string {
	e.t.Helper()
	require.True(e.t, s.ReadOnly)
	require.Equal(e.t, []string{"ALL"}, s.CapDrop)
	options := []string{
		"run", "--detach", "--network", "host", "--read-only", "--cap-drop", "ALL", "--security-opt",
		"no-new-privileges",
		"--ulimit", "nofile=10000:10000", "--ulimit", "nproc=2000:2000",
	}
	for name, value := range s.Environment {
		options = append(options, "--env", name+"="+*value)
	}
	container := e.podman(append(append(options, image), args...)...)
	e.t.Cleanup(func() {
		if e.t.Failed() {
			e.t.Log(e.logs(container))
		}
		e.podman("rm", "--force", container)
	})
	return container
}

// healthy waits until the health check of a service of docker-compose.yml succeeds. change are pairs of old
// and new text: the ports of the test.
func healthy(t *testing.T, s types.ServiceConfig, check func(command []string) *exec.Cmd, change ...string) {
	t.Helper()
	command := s.HealthCheck.Test[1:]
	if s.HealthCheck.Test[0] == "CMD-SHELL" {
		command = append([]string{"sh", "-c"}, command...)
	}
	changed := make([]string, len(command))
	different := false
	for i, word := range command {
		changed[i] = strings.NewReplacer(change...).Replace(word)
		different = different || changed[i] != word
	}
	require.True(t, different || len(change) == 0, "%q does not name the port", command)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) {
		out, err := check(changed).CombinedOutput()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%v: %v\n%s", changed, err, out)
	}
}

// here runs a health check on this machine: the servers of Debian's packages are no containers.
func here(command []string) *exec.Cmd { return exec.Command(command[0], command[1:]...) }

// TestImage builds the image and runs it as docker-compose.yml does, beside servers with the commands,
// environments and health checks of that file. Kafka is Apache's release, Redis is Debian's package. All use the
// network and free ports of this machine.
func TestImage(t *testing.T) {
	e := newEngine(t)
	begin := time.Now()
	e.base()
	t.Logf("base image: %s", time.Since(begin).Round(time.Second))
	begin = time.Now()
	e.build("compose", "echosieve:compose")
	e.build("service", "echosieve:service")
	var images []struct{ Size int64 }
	require.NoError(t, json.Unmarshal([]byte(e.podman("image", "inspect", "echosieve:service")), &images))
	t.Logf("image: %s, %.1f MB", time.Since(begin).Round(time.Second), float64(images[0].Size)/1e6)
	require.Less(t, images[0].Size, int64(40e6))

	compose := compose(t).Services
	broker := startKafka(t, compose["kafka"])
	_, port, _ := strings.Cut(broker, ":")
	healthy(t, compose["kafka"], here, "19092", port)
	redis := compose["redis"]
	require.Equal(t, "redis-server", redis.Command[0])
	store := redisserver.Start(t, redis.Command[1:]...).Addr
	_, port, _ = strings.Cut(store, ":")
	healthy(t, redis, here, "redis-cli", "redis-cli -p "+port)

	begin = time.Now()
	listen := host.Addr(host.Ports(t, 1)[0])
	changes := []string{"--kafka.brokers", broker, "--redis.addrs", store, "--http.listen", listen}
	command := []string{"run", "--config", "/etc/echosieve/echosieve.yaml"}
	require.Contains(t, e.podman("image", "inspect", "--format", "{{json .Config.Cmd}}", "echosieve:compose"),
		`["run","--config","/etc/echosieve/echosieve.yaml"]`)
	sieve := e.start(compose["echosieve"], "echosieve:compose", append(command, changes...)...)
	healthy(t, compose["echosieve"], func(command []string) *exec.Cmd {
		return exec.Command("podman",
			append(append(append(e.storage, "--runtime", "runc", "exec", sieve), command...), "--http.listen",
				listen)...)
	})
	t.Logf("ready: %s", time.Since(begin).Round(100*time.Millisecond))

	feeder := compose["feeder"]
	e.start(feeder, "echosieve:service",
		strings.Fields(strings.ReplaceAll(strings.Join(feeder.Command, " "), "kafka:19092", broker))...)
	counts := readVerdicts(t, broker, "articles-unique", "articles-duplicate")
	t.Logf("verdicts: %v", counts)

	begin = time.Now()
	e.podman("stop", "--time", "30", sieve)
	require.Equal(t, "0", e.podman("inspect", "--format", "{{.State.ExitCode}}", sieve), "exit code after stop")
	t.Logf("stopped: %s", time.Since(begin).Round(100*time.Millisecond))
}

// startKafka starts Kafka with the environment of docker-compose.yml, in the manner of Apache's image:
// KAFKA_A_B sets a.b. Listeners, addresses and the folder are those of the test.
func startKafka(t *testing.T, s types.ServiceConfig) string {
	t.Helper()
	var settings []kafkaserver.Option
	for name, value := range s.Environment {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "KAFKA_")), "_", ".")
		switch key {
		case "heap.opts", "log.dirs", "node.id", "process.roles", "controller.quorum.voters":
		default:
			if !strings.Contains(key, "listener") {
				settings = append(settings, kafkaserver.With(key, *value))
			}
		}
	}
	require.Greater(t, len(settings), 5)
	return kafkaserver.Start(t, strings.TrimPrefix(s.Image, "apache/kafka:"), settings...).Addr
}

// readVerdicts reads topics until each has a verdict, and together they have enough. It returns the numbers by verdict.
func readVerdicts(t *testing.T, broker string, topics ...string) map[string]int {
	t.Helper()
	byVerdict := map[string]int{}
	kafkaserver.Read(t, broker, topics, func(all []*kgo.Record) bool {
		byTopic := map[string]int{}
		clear(byVerdict)
		for _, r := range all {
			byTopic[r.Topic]++
			byVerdict[ledger.Headers(r)[pipeline.HeaderVerdict]]++
		}
		return len(all) >= verdicts && len(byTopic) == len(topics)
	}, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return byVerdict
}
