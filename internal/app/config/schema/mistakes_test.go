package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown key": {"windw: 1h\n", []string{`e.yaml:1: unknown key windw; did you mean window?`}},
		"unknown nested": {"kafka:\n  broker: x\n",
			[]string{`e.yaml:2: unknown key kafka.broker; did you mean kafka.brokers?`}},
		"wrong place":     {"brokers: [x]\n", []string{`:1: unknown key brokers; did you mean kafka.brokers?`}},
		"unknown section": {"\nkafak:\n  brokers: x\n", []string{`:2: unknown key kafak; did you mean kafka?`}},
		"nothing near":    {"zzzzzzzzzzzzzzz: 1\n", []string{":1: unknown key zzzzzzzzzzzzzzz"}},
		"duration": {"window: soon\n",
			[]string{`:1: window wants a duration such as 7d, 168h, 30s or 250ms, not "soon"`}},
		"plain number": {"window: 7\n", []string{`:1: window wants a duration`}},
		"size": {"kafka: {max_message_bytes: big}\n",
			[]string{`:1: kafka.max_message_bytes wants a size`}},
		"negative size": {"kafka: {max_message_bytes: -1}\n", []string{`kafka.max_message_bytes wants a size`}},
		"bool": {"kafka: {create_topics: yes}\n",
			[]string{`kafka.create_topics wants true or false, not "yes"`}},
		"overflow":     {"small: 256\n", []string{`:1: small wants a whole number, 0 or more, of at most 8 bits`}},
		"not a number": {"weight: .nan\n", []string{`:1: weight wants a number`}},
		"map for list": {"kafka:\n  brokers: {a: b}\n",
			[]string{`:2: kafka.brokers wants one value of type list`}},
		"list of lists":     {"kafka:\n  brokers: [[a]]\n", []string{`:2: kafka.brokers wants a list of plain values`}},
		"list for scalar":   {"window: [1h]\n", []string{`:1: window wants one value of type duration`}},
		"scalar as section": {"kafka: here\n", []string{`:1: kafka is a section`}},
		"no value":          {"window:\n", []string{`:1: window has no value`}},
		"twice":             {"window: 1h\nwindow: 2h\n", []string{`:2: window is already set in line 1`}},
		"not a mapping":     {"- a\n", []string{`:1: want settings as name: value`}},
		"two documents":     {"window: 1h\n---\nwindow: 2h\n", []string{`more than one YAML document`}},
		"not YAML":          {"a: [\n", []string{"e.yaml:1: no YAML:"}},
		"tab":               {"window: 7d\nkafka:\n\tbrokers: [a:1]\n", []string{"e.yaml:3: a tab indents this line; use spaces"}},
		"open quote":        {"kafka:\n  group: \"news\n  brokers: [a:1]\n", []string{"e.yaml:2: no YAML: "}},
		"no colon":          {"kafka:\n  brokers: [a:1]\n  group news\n  x: 3\n", []string{"e.yaml:3: no YAML: could not find expected ':'"}},
		"all are reported":  {"windw: 1h\nsmall: x\n", []string{":1: unknown key windw", ":2: small wants"}},
		"secret not shown": {"kafka: {password: [hunter2]}\n",
			[]string{"kafka.password wants one value of type string"}},
		"secret as alias":  {"kafka: {password: *hunter2}\n", []string{"e.yaml:1: no YAML: a value begins with *"}},
		"secret as anchor": {"kafka: {password: &hunter2}\n", []string{"kafka.password has no value"}},
		"secret as map":    {"kafka: {password: {hunter2: x}}\n", []string{"kafka.password wants one value"}},
		"secret cut open":  {"kafka: {password: hunter2\n", []string{"e.yaml:1: no YAML:"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, nil, nil)
			require.Error(t, err)
			for _, want := range c.want {
				require.Contains(t, err.Error(), want)
			}
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
	} {
		_, _, err := load(t, "", []string{variable}, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "p4")
	}
}

func TestNewRefusesWrongStructs(t *testing.T) {
	for want, defaults := range map[string]any{
		"has no help": struct {
			A int `setting:"a"`
		}{},
		"not supported": struct {
			A map[string]int `setting:"a" help:"A."`
		}{},
		"exists twice": struct {
			A, B int `setting:"a" help:"A."`
		}{},
		"share the variable": struct {
			A struct {
				B int `setting:"b" help:"B."`
			} `setting:"a"`
			C int `setting:"a_b" help:"B."`
		}{},
		"is a secret and no string": struct {
			A int `setting:"a" help:"A." secret:"true"`
		}{},
	} {
		func() {
			defer func() { require.Contains(t, recover(), want) }()
			New(testPrefix, defaults)
		}()
	}
}

// Kubernetes sets variables for each service of a namespace, also for one with our name.
func TestServiceLinksAreNoSettings(t *testing.T) {
	links := []string{"ECHOSIEVE_PORT=tcp://10.0.0.1:9464", "ECHOSIEVE_PORT_9464_TCP=tcp://10.0.0.1:9464", "ECHOSIEVE_PORT_9464_TCP_ADDR=10.0.0.1",
		"ECHOSIEVE_SERVICE_HOST=10.0.0.1", "ECHOSIEVE_SERVICE_PORT=9464", "ECHOSIEVE_SERVICE_PORT_HTTP=9464", "ECHOSIEVE_WEB_PORT=tcp://10.0.0.2:80",
		"ECHOSIEVE_WEB_SERVICE_HOST=10.0.0.2"}
	_, _, err := load(t, "", links, nil)
	require.NoError(t, err)
	for _, wrong := range []string{"ECHOSIEVE_WEB_PORT=80", "ECHOSIEVE_WEB_SERVICE_HOST=10.0.0.2", "ECHOSIEVE_WINDW=1h"} {
		_, _, err := load(t, "", append(links[:6:6], wrong), nil)
		require.ErrorContains(t, err, "unknown variable")
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
	s := New(testPrefix, testDefaults())
	path := filepath.Join(f.TempDir(), "echosieve.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := testDefaults()
		origins, err := s.Load(&cfg, Sources{File: path})
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		printed := s.Print(cfg, origins)
		if err := os.WriteFile(path, s.Print(withoutSecret(cfg), nil), 0o600); err != nil {
			t.Fatal(err)
		}
		again := testDefaults()
		if _, err := s.Load(&again, Sources{File: path}); err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
	})
}

func withoutSecret(c testConfig) testConfig {
	c.Kafka.Password = ""
	return c
}
