// Package deploy checks the files that users run Echosieve with: container image, compose file, chart, manifests,
// packages. It holds tests only, in a module of its own: who imports simhash gets none of the modules that read
// manifests.
package deploy_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/docker/go-units"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"echosieve/test/host"
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
	require.Equal(t, []string{"produce", "--sample"}, []string(s.Command[:2]), "test/docs runs this command")
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

type instruction struct {
	name string
	args []string
}

// instructions returns the instructions of a Dockerfile, continuation lines joined.
func instructions(text string) []instruction {
	var list []instruction
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		list = append(list, instruction{fields[0], fields[1:]})
	}
	return list
}

// The image is pinned, holds nothing but the program, and runs as no root. make image-test builds and runs it.
func TestDockerfile(t *testing.T) {
	var images, users []string
	stages := map[string]bool{}
	var last []string
	for _, i := range instructions(host.Read(t, "deploy/Dockerfile")) {
		switch i.name {
		case "FROM":
			if last = i.args; !stages[last[0]] {
				images = append(images, last[0])
			}
			if len(i.args) == 3 {
				stages[i.args[2]] = true
			}
		case "USER":
			users = append(users, i.args[0])
		}
	}
	require.Len(t, images, 2)
	require.Regexp(t, pinned, images[0])
	require.Equal(t, "scratch", images[1], "nothing but the program and certificates")
	require.Equal(t, []string{"service"}, last, "built without --target")
	require.Len(t, users, 1)
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, users[0], "not root, and by number")
}

// requireStatic requires that a program needs no shared library.
func requireStatic(t *testing.T, path string) {
	t.Helper()
	program, err := elf.Open(path)
	require.NoError(t, err)
	libraries, err := program.ImportedLibraries()
	require.NoError(t, program.Close())
	require.NoError(t, err)
	require.Empty(t, libraries)
}

// The image is built with the Go version of the module.
func TestDockerfileVersions(t *testing.T) {
	goLine := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(host.Read(t, "go.mod"))
	require.NotNil(t, goLine)
	require.Contains(t, host.Read(t, "deploy/Dockerfile"), "FROM golang:"+goLine[1]+".")
}

// The files that provisioning names exist at the paths where the image of the compose file has them.
func TestGrafanaProvisioning(t *testing.T) {
	c := compose(t)
	build := c.Services["grafana"].Build
	copied := map[string]string{} // path in the container -> path on this machine
	for _, i := range instructions(build.DockerfileInline) {
		if i.name == "COPY" {
			copied[i.args[2]] = filepath.Join(build.Context, i.args[1])
		}
	}

	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	provisioning := host.Read(t, "deploy/grafana/provisioning/dashboards/echosieve.yml")
	require.NoError(t, yaml.Unmarshal([]byte(provisioning), &providers))
	require.Len(t, providers.Providers, 1)
	path := providers.Providers[0].Options.Path
	require.Contains(t, copied, path)
	home := *c.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.Equal(t, path, filepath.Dir(home))
	require.FileExists(t, filepath.Join(copied[path], filepath.Base(home)))
}
