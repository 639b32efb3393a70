package kafkaserver

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
)

// clusterID is that of every cluster: 16 bytes, written as Kafka does.
var clusterID = base64.RawURLEncoding.EncodeToString([]byte("echosieve-test-1"))

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
	format := exec.CommandContext(s.t.Context(), "java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-cp", s.kafka.classPath(), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", s.config()}, o.format...)...)
	if out, err := format.CombinedOutput(); err != nil {
		s.t.Fatalf("format Kafka storage: %v\n%s", err, out)
	}
}
