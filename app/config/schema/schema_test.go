package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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
	Small  int     `setting:"small" help:"A small number." hidden:"true"`
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

func load(t *testing.T, yaml string, environ, args []string) (testConfig, Origins, error) {
	t.Helper()
	s := New(testPrefix, testDefaults(), nil)
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
	s := New(testPrefix, testDefaults(), nil)
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

	for _, c := range []struct {
		environ, args []string
		window        time.Duration
		brokers       []string
		origin        string // of the brokers
	}{
		{nil, nil, time.Hour, []string{"file:1", "file:2"}, `e\.yaml:3$`},
		{environ, nil, 2 * time.Hour, []string{"env:1"}, "^ECHOSIEVE_KAFKA_BROKERS$"},
		{environ, args, 3 * time.Hour, []string{"f:1", "f:2", "f:3"}, "^--kafka.brokers$"},
	} {
		cfg, origins, err := load(t, yaml, c.environ, c.args)
		require.NoError(t, err)
		want := testDefaults()
		want.Window, want.Kafka.Brokers, want.Kafka.Nested.Input = c.window, c.brokers, "from-file"
		want.Kafka.Create = c.args != nil
		require.Equal(t, want, cfg)
		require.Regexp(t, c.origin, origins["kafka.brokers"])
		require.Equal(t, "default", origins["weight"])
	}
}

func TestFileForms(t *testing.T) {
	for _, yaml := range []string{"# nothing\n", "kafka:\n  # brokers: [x]\n", "\ufeffkafka:\n"} {
		cfg, _, err := load(t, yaml, nil, nil)
		require.NoError(t, err)
		require.Equal(t, testDefaults(), cfg, yaml)
	}
	cfg, _, err := load(t, "kafka:\n  brokers: a:1, b:2\n  max_message_bytes: 2MiB\n  password: 0123\n", nil, nil)
	require.NoError(t, err)
	want := testDefaults().Kafka
	want.Brokers, want.MaxBytes, want.Password = []string{"a:1", "b:2"}, 2<<20, "0123" // text is taken as it is written
	require.Equal(t, want, cfg.Kafka)
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

	s := New(testPrefix, testDefaults(), nil)
	nested, err := s.Values(&cfg)
	require.NoError(t, err)
	values, err := json.Marshal(nested)
	require.NoError(t, err)
	for _, text := range [][]byte{s.Print(&cfg, nil), s.Print(&cfg, origins), values} {
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

// A printed configuration can be loaded again, for any values. Environ passes it to another process, with its secrets.
func TestRoundTrips(t *testing.T) {
	want := testDefaults()
	want.Window, want.Shared.Weight = 90*time.Minute+5*time.Second, .25
	want.Kafka.MaxBytes = 64<<20 + 1
	want.Kafka.Brokers = []string{"", "a: b", "[c]", "d,e", "null", "true", "#f", "\u65b0\u805e"}
	want.Kafka.Nested.Input = "two\nlines: \"x\""
	s := New(testPrefix, testDefaults(), nil)
	got, _, err := load(t, string(s.Print(&want, nil)), nil, nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
	want.Kafka.Brokers, want.Kafka.Password = []string{"x:1", "y:2"}, "secret"
	got, _, err = load(t, "", s.Environ(&want), nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// A relative name of a file in the YAML file is relative to its folder; elsewhere it stays as it is.
func TestFileNames(t *testing.T) {
	type config struct {
		Key   string `setting:"key_file" help:"x"`
		Words string `setting:"words" file:"true" help:"x"`
		Pass  string `setting:"pass" secret:"true" help:"x"`
	}
	s := New(testPrefix, config{}, nil)
	path := writeFile(t, "key_file: keys/a.pem\nwords: /abs/words\npass_file: pass\n")
	folder := filepath.Dir(path)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pass"), []byte("secret\n"), 0o600))
	var cfg config
	_, err := s.Load(&cfg, Sources{File: path, Flags: pflag.NewFlagSet("", pflag.ContinueOnError),
		Environ: []string{"ECHOSIEVE_WORDS=words"}})
	require.NoError(t, err)
	require.Equal(t, config{filepath.Join(folder, "keys/a.pem"), "words", "secret"}, cfg)
}

func TestFileMistakes(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"unknown key":       {"windw: 1h\n", `e.yaml:1: unknown key windw; did you mean window?`},
		"unknown nested":    {"kafka:\n  broker: x\n", `e.yaml:2: unknown key kafka.broker; did you mean kafka.brokers?`},
		"wrong place":       {"brokers: [x]\n", `:1: unknown key brokers; did you mean kafka.brokers?`},
		"unknown section":   {"\nkafak:\n  brokers: x\n", `:2: unknown key kafak; did you mean kafka?`},
		"nothing near":      {"zzzzzzzzzzzzzzz: 1\n", ":1: unknown key zzzzzzzzzzzzzzz"},
		"duration":          {"window: soon\n", `:1: window wants a duration such as 7d, 168h, 30s or 250ms, not "soon"`},
		"plain number":      {"window: 7\n", `:1: window wants a duration`},
		"size":              {"kafka: {max_message_bytes: big}\n", `:1: kafka.max_message_bytes wants a size`},
		"negative size":     {"kafka: {max_message_bytes: -1}\n", `kafka.max_message_bytes wants a size`},
		"bool":              {"kafka: {create_topics: yes}\n", `kafka.create_topics wants true or false, not "yes"`},
		"not a number":      {"weight: .nan\n", `:1: weight wants a number`},
		"map for list":      {"kafka:\n  brokers: {a: b}\n", `:2: kafka.brokers wants one value of type list`},
		"list of lists":     {"kafka:\n  brokers: [[a]]\n", `:2: kafka.brokers wants a list of plain values`},
		"list for scalar":   {"window: [1h]\n", `:1: window wants one value of type duration`},
		"scalar as section": {"kafka: here\n", `:1: kafka is a section`},
		"no value":          {"window:\n", `:1: window has no value`},
		"twice":             {"window: 1h\nwindow: 2h\n", `:2: window is already set in line 1`},
		"not a mapping":     {"- a\n", `:1: want settings as name: value`},
		"two documents":     {"window: 1h\n---\nwindow: 2h\n", `more than one YAML document`},
		"tab":               {"window: 7d\nkafka:\n\tbrokers: [a:1]\n", "e.yaml: yaml: line 3:"},
		"all are reported":  {"windw: 1h\nsmall: 1.5\n", ":2: small wants a whole number of at most 64 bits"},
		"secret not shown":  {"kafka: {password: [hunter2]}\n", "kafka.password wants one value of type string"},
		"secret as alias":   {"kafka: {password: *hunter2}\n", "e.yaml: yaml: a value begins with *"},
		"alias":             {"window: &w 1h\nweight: *w\n", `:2: weight wants one value of type float`},
		"secret as anchor":  {"kafka: {password: &hunter2}\n", "kafka.password has no value"},
		"secret cut open":   {"kafka: {password: hunter2\n", "e.yaml: yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, nil, nil)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestEnvironmentMistakes(t *testing.T) {
	for variable, want := range map[string]string{
		"ECHOSIEVE_WINDOWS=1h":         "unknown variable ECHOSIEVE_WINDOWS; did you mean ECHOSIEVE_WINDOW?",
		"ECHOSIEVE_KAFKA_BROKER=x":     "did you mean ECHOSIEVE_KAFKA_BROKERS?",
		"ECHOSIEVE_WINDOW=later":       "ECHOSIEVE_WINDOW wants a duration",
		"ECHOSIEVE_CONFIGURATION=e":    "unknown variable ECHOSIEVE_CONFIGURATION",
		"ECHOSIEVE_KAFKA_PASSWORD_=p4": "unknown variable ECHOSIEVE_KAFKA_PASSWORD_",
		"ECHOSIEVE_PORT=tcp://p4:9464": "enableServiceLinks: false",
	} {
		_, _, err := load(t, "", []string{variable}, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "p4")
	}
}

// FuzzFile feeds arbitrary files: an error that names the file, or a configuration that can be printed and read back.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"", "kafka: {brokers: [a, b]}", "kafka:\n  password: hunter2\n", "window: 7d", "kafka: &a {topics: *a}",
		"a: &a [*a]", "--- a\n--- b",
		"kafka: {<<: {password: x}}", "? {a: b}\n: c", "\x00", "\xff\xfe", "kafka: !!binary aGk=",
		strings.Repeat("[", 5000), strings.Repeat("a: ", 300),
		"x: &x [a,a]\ny: &y [*x,*x,*x]\nkafka: {brokers: [*y]}", "small: 256\nweight: .nan",
		"kafka: {max_message_bytes: 99999999999999999999GiB}",
		"kafka: {password: [hunter2]}",
	} {
		f.Add([]byte(text))
	}
	s := New(testPrefix, testDefaults(), nil)
	path := filepath.Join(f.TempDir(), "echosieve.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		cfg := testDefaults()
		origins, err := s.Load(&cfg, Sources{File: path})
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		printed := s.Print(cfg, origins)
		cfg.Kafka.Password = "" // it is not printed
		require.NoError(t, os.WriteFile(path, s.Print(cfg, nil), 0o600))
		again := testDefaults()
		_, err = s.Load(&again, Sources{File: path})
		require.NoError(t, err, "%s", printed)
	})
}
