package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/docker/go-units"
	"github.com/stretchr/testify/require"
)

// compose loads docker-compose.yml with the library of docker compose, which refuses unknown keys and broken
// references.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(host.Root(t), "docker-compose.yml")},
		cli.WithProfiles([]string{"*"}), cli.WithEnv(env))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

// pinned images name at least a minor version: "7" or "latest" can be another program tomorrow.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$`)

func TestComposeServices(t *testing.T) {
	c := compose(t)
	require.Len(t, c.Services, 7)
	for name, s := range c.Services {
		t.Run(name, func(t *testing.T) {
			if s.Build == nil && s.Image != "echosieve:local" {
				require.Regexp(t, pinned, s.Image)
			}
			require.Positive(t, int64(s.MemLimit))
			for _, port := range s.Ports {
				require.Equal(t, "127.0.0.1", port.HostIP, "port %s is open to others", port.Published)
			}
			for other, on := range s.DependsOn {
				require.Equal(t, types.ServiceConditionHealthy, on.Condition)
				require.NotNil(t, c.Services[other].HealthCheck)
			}
			// A mounted file would keep its mode: after a clone under umask 077 the container could not read it.
			for _, v := range s.Volumes {
				require.Equal(t, types.VolumeTypeVolume, v.Type, v.Source)
			}
			if name != "feeder" {
				require.NotNil(t, s.HealthCheck)
				require.NotEmpty(t, s.HealthCheck.Test)
				require.NotEmpty(t, s.Ports)
			}
		})
	}
}

// Images that compose builds: their files exist and everybody in the container can read them.
func TestComposeBuilds(t *testing.T) {
	text := host.Read(t, "deploy/Dockerfile")
	for name, s := range compose(t, "VERSION=1.2.3").Services {
		switch {
		case s.Build == nil:
		case s.Build.DockerfileInline == "":
			require.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
			require.Contains(t, text, " AS "+s.Build.Target+"\n")
			require.Equal(t, "1.2.3", *s.Build.Args["VERSION"], name)
		default:
			steps := instructions(s.Build.DockerfileInline)
			require.Equal(t, "FROM", steps[0].name)
			require.Regexp(t, pinned, steps[0].args[0])
			for _, step := range steps[1:] {
				require.Equal(t, "COPY", step.name)
				require.Equal(t, "--chmod=755", step.args[0], name)
				for _, source := range step.args[1 : len(step.args)-1] {
					_, err := os.Stat(filepath.Join(s.Build.Context, source))
					require.NoError(t, err)
				}
			}
		}
	}
	require.Equal(t, "dev", *compose(t).Services["echosieve"].Build.Args["VERSION"])
}

// Stories are made only on demand, by the image, the settings and the limits of the service.
func TestComposeStories(t *testing.T) {
	service, s := compose(t).Services["echosieve"], compose(t).Services["stories"]
	require.Equal(t, []string{"stories"}, s.Profiles)
	require.Equal(t, []string{"stories", "--config=/etc/echosieve/echosieve.yaml"}, []string(s.Command))
	require.NotEqual(t, service.Ports[0].Published, s.Ports[0].Published)
	s.Name, s.Profiles, s.Command, s.Build = service.Name, nil, nil, service.Build
	s.DependsOn, s.Ports = service.DependsOn, service.Ports
	require.Equal(t, service, s)
}

// The feeder is started only on demand. Its command line is one that the program of its image understands,
// and names servers of the file.
func TestComposeFeeder(t *testing.T) {
	s := compose(t).Services["feeder"]
	require.Equal(t, []string{"feeder"}, s.Profiles)
	require.Equal(t, types.ServiceConditionHealthy, s.DependsOn["echosieve"].Condition, "the service creates the topic")
	require.Contains(t, s.Command, "--kafka.brokers=kafka:19092")
	require.Equal(t, []string{"produce", "--sample", "--loop"}, []string(s.Command[:3]), "test/docs runs this command")
}

func TestRedisKeepsTheIndex(t *testing.T) {
	s := compose(t).Services["redis"]
	command := strings.Join(s.Command, " ")
	for _, setting := range []string{
		"--maxmemory-policy noeviction", "--appendonly yes", "--hash-max-listpack-value 1024",
	} {
		require.Contains(t, command, setting)
	}
	most := regexp.MustCompile(`--maxmemory (\S+)`).FindStringSubmatch(command)
	require.NotNil(t, most)
	bytes, err := units.RAMInBytes(most[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, int64(s.MemLimit), 2*bytes, "Redis rewrites its log in a second process")
}

// The service and the feeder run without any rights and without a writable disk, as the user of the image,
// which TestDockerfile checks.
func TestServiceHasNoRights(t *testing.T) {
	for _, name := range []string{"echosieve", "feeder"} {
		s := compose(t).Services[name]
		require.True(t, s.ReadOnly)
		require.Empty(t, s.Tmpfs)
		require.Empty(t, s.Volumes)
		require.Empty(t, s.User, "the user of the image must stay")
		require.False(t, s.Privileged)
		require.Equal(t, []string{"ALL"}, s.CapDrop)
		require.Empty(t, s.CapAdd)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true")
	}
}

// The configuration of the service uses the names that the compose file gives to the other services.
func TestComposeConfiguration(t *testing.T) {
	cfg := load(t, filepath.Join(host.Root(t), "deploy/echosieve.compose.yaml"))
	services := compose(t).Services
	for _, addr := range append(cfg.Kafka.Brokers, cfg.Redis.Addrs...) {
		host, _, _ := strings.Cut(addr, ":")
		require.Contains(t, services, host)
	}
	require.Contains(t, *services["kafka"].Environment["KAFKA_ADVERTISED_LISTENERS"], "//"+cfg.Kafka.Brokers[0])
	require.True(t, cfg.Kafka.CreateTopics)
	require.Equal(t, "0.0.0.0:9464", cfg.HTTP.Listen)
	require.True(t, cfg.HTTP.Console && cfg.HTTP.Generated, "nobody but who reads the log may read articles")
	for _, host := range cfg.HTTP.Hosts {
		require.Contains(t, services, host, "containers call the service by its name")
	}
}
