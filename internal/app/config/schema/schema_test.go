package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

type testKafka struct {
	Brokers  []string `setting:"brokers" help:"Addresses."`
	Extra    testTopics
	Nested   testTopics `setting:"topics" help:"Names of the topics."`
	MaxBytes int        `setting:"max_message_bytes" help:"Largest message."`
	Create   bool       `setting:"create_topics" help:"Create missing topics."`
	Password string     `setting:"password" secret:"true" help:"Password."`
}

type testTopics struct {
	Input string `setting:"input" help:"Articles | in."`
}

type testShared struct {
	Weight float64 `setting:"weight" help:"A number."`
	Small  uint8   `setting:"small" help:"A small number." hidden:"true"`
}

type testConfig struct {
	Kafka  testKafka     `setting:"kafka"`
	Shared testShared    `setting:",squash"`
	Window time.Duration `setting:"window" help:"How long."`
	Clock  func()        // no tag: no setting
}

func testDefaults() testConfig {
	return testConfig{
		Kafka: testKafka{
			Brokers: []string{"127.0.0.1:9092", "b:1", "c:2"}, MaxBytes: 1 << 20,
			Nested: testTopics{Input: "articles"},
		},
		Shared: testShared{Weight: 0.5, Small: 3},
		Window: 168 * time.Hour,
	}
}

const testPrefix = "ECHOSIEVE_"

// load loads with a YAML text, variables and arguments.
func load(t *testing.T, yaml string, environ, args []string) (testConfig, Origins, error) {
	t.Helper()
	s := New(testPrefix, testDefaults())
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String("config", "", "")
	s.AddFlags(flags)
	require.NoError(t, flags.Parse(args))
	from := Sources{Environ: environ, Ignored: []string{"ECHOSIEVE_CONFIG", "ECHOSIEVE_TEST_"}, Flags: flags}
	if yaml != "" {
		from.File = writeFile(t, yaml)
	}
	cfg := testDefaults()
	origins, err := s.Load(&cfg, from)
	return cfg, origins, err
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "e.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A hidden key works, and stands in no list unless it was changed.
func TestHiddenKey(t *testing.T) {
	s := New(testPrefix, testDefaults())
	require.NotContains(t, string(s.Reference()), "small")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.AddFlags(flags)
	require.NotContains(t, flags.FlagUsages(), "--small")
	cfg, origins, err := load(t, "small: 7\n", nil, nil)
	require.NoError(t, err)
	require.Contains(t, string(s.Print(cfg, origins)), "small: 7")
	require.NotContains(t, string(s.Print(testDefaults(), nil)), "small")
}

// Each source beats the one before it, for a scalar as for a list.
func TestPrecedence(t *testing.T) {
	yaml := "window: 1h\nkafka:\n  brokers: [file:1, file:2]\n  topics: {input: from-file}\n"
	environ := []string{"ECHOSIEVE_WINDOW=2h", "ECHOSIEVE_KAFKA_BROKERS=env:1", "HOME=/", "ECHOSIEVE_TEST_X=1",
		"ECHOSIEVE_CONFIG=x"}
	args := []string{"--window=3h", "--kafka.brokers=f:1", "--kafka.brokers", "f:2,f:3", "--kafka.create_topics",
		"--config=x"}

	cfg, origins, err := load(t, yaml, nil, nil)
	require.NoError(t, err)
	require.Equal(t, time.Hour, cfg.Window)
	require.Equal(t, []string{"file:1", "file:2"}, cfg.Kafka.Brokers)
	require.Equal(t, "from-file", cfg.Kafka.Nested.Input)
	require.Regexp(t, `e\.yaml:3$`, origins["kafka.brokers"])

	cfg, origins, err = load(t, yaml, environ, nil)
	require.NoError(t, err)
	require.Equal(t, 2*time.Hour, cfg.Window)
	require.Equal(t, []string{"env:1"}, cfg.Kafka.Brokers)
	require.Equal(t, "from-file", cfg.Kafka.Nested.Input)
	require.Equal(t, "ECHOSIEVE_WINDOW", origins["window"])

	cfg, origins, err = load(t, yaml, environ, args)
	require.NoError(t, err)
	require.Equal(t, 3*time.Hour, cfg.Window)
	require.Equal(t, []string{"f:1", "f:2", "f:3"}, cfg.Kafka.Brokers)
	require.True(t, cfg.Kafka.Create)
	require.Equal(t, "from-file", cfg.Kafka.Nested.Input)
	require.Equal(t, "--kafka.brokers", origins["kafka.brokers"])
	require.Equal(t, "default", origins["weight"])
}

func TestFileForms(t *testing.T) {
	for name, yaml := range map[string]string{
		"empty":         "# nothing\n",
		"empty section": "kafka:\n  # brokers: [x]\n",
		"byte mark":     "\ufeffkafka:\n",
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := load(t, yaml, nil, nil)
			require.NoError(t, err)
			require.Equal(t, testDefaults(), cfg)
		})
	}
	cfg, _, err := load(t, "kafka:\n  brokers: a:1, b:2\n  max_message_bytes: 2MiB\n  password: 0123\n", nil, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b:2"}, cfg.Kafka.Brokers)
	require.Equal(t, 2<<20, cfg.Kafka.MaxBytes)
	require.Equal(t, "0123", cfg.Kafka.Password, "text is taken as it is written")

	cfg, _, err = load(t, "kafka: {brokers: []}\n", nil, nil)
	require.NoError(t, err)
	require.Empty(t, cfg.Kafka.Brokers)
}

func TestSecrets(t *testing.T) {
	path := writeFile(t, "hunter2\r\n")

	cfg, origins, err := load(t, "kafka: {password: weak}\n", []string{"ECHOSIEVE_KAFKA_PASSWORD_FILE=" + path}, nil)
	require.NoError(t, err)
	require.Equal(t, "hunter2", cfg.Kafka.Password)
	require.Equal(t, path+", named by ECHOSIEVE_KAFKA_PASSWORD_FILE", origins["kafka.password"])

	cfg, _, err = load(t, "kafka: {password: weak}\n", nil, []string{"--kafka.password_file", path})
	require.NoError(t, err)
	require.Equal(t, "hunter2", cfg.Kafka.Password)

	cfg, origins, err = load(t, "kafka: {password_file: "+path+"}\n", []string{"ECHOSIEVE_KAFKA_PASSWORD=stronger"},
		nil)
	require.NoError(t, err)
	require.Equal(t, "stronger", cfg.Kafka.Password)

	s := New(testPrefix, testDefaults())
	for _, text := range [][]byte{s.Print(&cfg, nil), s.Print(&cfg, origins), mustJSON(t, s.Values(&cfg))} {
		require.NotContains(t, string(text), "stronger")
		require.Contains(t, string(text), "(set)")
	}

	_, _, err = load(t, "kafka:\n  password: a\n  password_file: "+path+"\n", nil, nil)
	require.ErrorContains(t, err, "e.yaml:3: kafka.password is set as well")
	require.ErrorContains(t, err, "e.yaml:2")
	_, _, err = load(t, "kafka: {password_file: /does/not/exist}\n", nil, nil)
	require.ErrorIs(t, err, os.ErrNotExist)

	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.AddFlags(flags)
	require.Nil(t, flags.Lookup("kafka.password"), "command lines are public")
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

// A printed configuration can be loaded again, for any values.
func TestPrintRoundTrip(t *testing.T) {
	want := testDefaults()
	want.Window = 90*time.Minute + 5*time.Second
	want.Kafka.MaxBytes = 64<<20 + 1
	want.Kafka.Brokers = []string{"", "a: b", "[c]", "d,e", "null", "true", "#f", "\u65b0\u805e"}
	want.Kafka.Nested.Input = "two\nlines: \"x\""
	s := New(testPrefix, testDefaults())
	got, _, err := load(t, string(s.Print(&want, nil)), nil, nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Environ passes the whole configuration, with its secrets, to another process.
func TestEnvironRoundTrip(t *testing.T) {
	want, _, err := load(
		t, "kafka: {brokers: [x:1, y:2], password: secret, topics: {input: \"\"}}\nweight: .25\nwindow: 90m\n", nil,
		nil)
	require.NoError(t, err)
	environ := New(testPrefix, testDefaults()).Environ(&want)
	got, _, err := load(t, "", environ, nil)
	require.NoError(t, err)
	got.Clock, want.Clock = nil, nil
	require.Equal(t, want, got)
}

// A relative name of a file in the YAML file is relative to its folder; elsewhere it stays as it is.
func TestFileNames(t *testing.T) {
	type config struct {
		Key   string `setting:"key_file" help:"x"`
		Words string `setting:"words" file:"true" help:"x"`
		Pass  string `setting:"pass" secret:"true" help:"x"`
	}
	s := New(testPrefix, config{})
	path := writeFile(t, "key_file: keys/a.pem\nwords: /abs/words\npass_file: pass\n")
	folder := filepath.Dir(path)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pass"), []byte("secret\n"), 0o600))
	var cfg config
	_, err := s.Load(&cfg, Sources{File: path, Flags: pflag.NewFlagSet("", pflag.ContinueOnError),
		Environ: []string{"ECHOSIEVE_WORDS=words"}})
	require.NoError(t, err)
	require.Equal(t, config{filepath.Join(folder, "keys/a.pem"), "words", "secret"}, cfg)
}
