package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
