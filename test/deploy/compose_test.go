package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"echosieve/test/promserver"
)

type service struct {
	Image       string
	Build       *struct{ Context, Dockerfile string }
	Command     []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Healthcheck *struct{ Test []string }
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       []string
	User        string
	Privileged  bool
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
}

type composeFile struct {
	Services map[string]service
	Volumes  map[string]any
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(promserver.Root(t), name))
	require.NoError(t, err)
	return data
}

func compose(t *testing.T) composeFile {
	t.Helper()
	var c composeFile
	require.NoError(t, yaml.Unmarshal(read(t, "docker-compose.yml"), &c))
	return c
}

// pinned images name at least a minor version: "7" or "latest" can be another program tomorrow.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$`)

func TestComposeServices(t *testing.T) {
	c := compose(t)
	require.Len(t, c.Services, 5)
	for name, s := range c.Services {
		t.Run(name, func(t *testing.T) {
			if s.Build == nil {
				require.Regexp(t, pinned, s.Image)
			} else {
				require.FileExists(t, filepath.Join(promserver.Root(t), s.Build.Context, s.Build.Dockerfile))
			}
			require.NotNil(t, s.Healthcheck)
			require.NotEmpty(t, s.Healthcheck.Test)
			require.NotEmpty(t, s.Ports)
			for _, port := range s.Ports {
				require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "port %s is open to others", port)
			}
			for other, on := range s.DependsOn {
				require.Contains(t, c.Services, other)
				require.Equal(t, "service_healthy", on.Condition)
				require.NotNil(t, c.Services[other].Healthcheck)
			}
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if !strings.HasPrefix(from, ".") {
					require.Contains(t, c.Volumes, from)
					continue
				}
				_, err := os.Stat(filepath.Join(promserver.Root(t), from))
				require.NoError(t, err)
				require.True(t, strings.HasSuffix(v, ":ro"), "%s: the container could write to a shipped file", v)
			}
		})
	}
}

func TestRedisKeepsTheIndex(t *testing.T) {
	command := strings.Join(compose(t).Services["redis"].Command, " ")
	for _, setting := range []string{
		"--maxmemory-policy noeviction", "--appendonly yes", "--hash-max-listpack-value 1024",
	} {
		require.Contains(t, command, setting)
	}
}

func TestServiceNeedsNoWritableDisk(t *testing.T) {
	s := compose(t).Services["echosieve"]
	require.True(t, s.ReadOnly)
	require.Empty(t, s.Tmpfs)
}

// The service runs without any rights, as the user of the image, which TestDockerfile checks.
func TestServiceHasNoRights(t *testing.T) {
	s := compose(t).Services["echosieve"]
	require.Empty(t, s.User, "the user of the image must stay")
	require.False(t, s.Privileged)
	require.Equal(t, []string{"ALL"}, s.CapDrop)
	require.Empty(t, s.CapAdd)
	require.Contains(t, s.SecurityOpt, "no-new-privileges:true")
	for _, v := range s.Volumes {
		require.True(t, strings.HasSuffix(v, ":ro"), v)
	}
}

// The configuration of the service uses the names that the compose file gives to the other services.
func TestComposeConfiguration(t *testing.T) {
	var config struct {
		Kafka struct {
			Brokers      []string
			Group        string
			CreateTopics bool `yaml:"create_topics"`
			Topics       struct{ Input, Unique, Duplicate, Dead string }
		}
		Redis struct {
			Addrs     []string
			Namespace string
		}
		Window string
		HTTP   struct{ Listen string }
		Recipe string
		Input  struct {
			SourceLabels int `yaml:"source_labels"`
		}
	}
	data := read(t, "deploy/echosieve.compose.yaml")
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&config))

	services := compose(t).Services
	for _, addr := range append(config.Kafka.Brokers, config.Redis.Addrs...) {
		host, _, _ := strings.Cut(addr, ":")
		require.Contains(t, services, host)
	}
	require.Contains(t, services["kafka"].Environment["KAFKA_ADVERTISED_LISTENERS"], "//"+config.Kafka.Brokers[0])
	require.True(t, config.Kafka.CreateTopics)
	require.Equal(t, "0.0.0.0:9464", config.HTTP.Listen)
	require.Equal(t, "news", config.Recipe)
	topics := config.Kafka.Topics
	require.NotContains(t, []string{topics.Unique, topics.Duplicate, topics.Dead}, topics.Input)
	for _, value := range []string{topics.Input, topics.Unique, topics.Duplicate, topics.Dead, config.Window, config.Redis.Namespace, config.Kafka.Group} {
		require.NotEmpty(t, value)
	}
}
