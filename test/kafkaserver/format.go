package kafkaserver

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// clusterID is that of every cluster.
var clusterID = id([]byte("echosieve-test-1"))

// id writes 16 bytes as Kafka does.
func id(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// format writes the configuration and prepares the data folder.
func (s *Server) format(o options) {
	s.t.Helper()
	var file bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(o.properties)) {
		fmt.Fprintf(&file, "%s=%s\n", k, o.properties[k])
	}
	if err := os.WriteFile(s.config(), file.Bytes(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := s.fill(o.properties["log.dirs"], o.properties["node.id"], o.format); err != nil {
		s.t.Fatalf("format Kafka storage: %v", err)
	}
}

// fill writes the two files of a formatted data folder. The first records of the cluster depend only on the
// version and on the arguments of the storage tool, which would take as long as the broker's start. So it
// runs once for each list of arguments.
func (s *Server) fill(data, node string, args []string) error {
	const name = "bootstrap.checkpoint"
	kept := filepath.Join(s.kafka.dir, fmt.Sprintf("%x.checkpoint", sha256.Sum256([]byte(strings.Join(args, "\n")))))
	first, err := os.ReadFile(kept)
	if os.IsNotExist(err) {
		format := exec.CommandContext(s.t.Context(), "java", append([]string{
			"-cp", s.kafka.classPath(), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", s.config(),
		}, args...)...)
		if out, err := format.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if first, err = os.ReadFile(filepath.Join(data, name)); err != nil {
			return err
		}
		return replace(kept, first)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	folder := make([]byte, 16)
	_, _ = rand.Read(folder) // never fails
	meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%s\ndirectory.id=%s\n", clusterID, node, id(folder))
	if err := os.WriteFile(filepath.Join(data, "meta.properties"), []byte(meta), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, name), first, 0o600)
}

// replace writes a file that other processes may read or write at the same time.
func replace(name string, content []byte) error {
	own, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	_, err = own.Write(content)
	if closed := own.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(own.Name(), name)
	}
	if err != nil {
		_ = os.Remove(own.Name())
	}
	return err
}
