package kafkaserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>echosieve</groupId><artifactId>test-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version></dependency>
  </dependencies>
</project>
`

// jars returns the class path of a Kafka version. Maven downloads the jars if they are not in the cache.
func jars(t testing.TB, version string) string {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing, which real Kafka needs; run: .ci/setup test", tool)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cache, "echosieve-test")
	libs := filepath.Join(root, "kafka-"+version)
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	// Several test processes may need the same jars: the first one downloads them, the others wait.
	lock, err := os.OpenFile(libs+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(libs, ".complete")); err != nil {
		fetch(t, version, libs)
	}
	// The logging library must come first. Otherwise Kafka logs nothing, and await waits for a line of the log.
	return filepath.Join(libs, "slf4j-simple-1.7.36.jar") + ":" + filepath.Join(libs, "*")
}

func fetch(t testing.TB, version, libs string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), fmt.Appendf(nil, pom, version), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "mvn", "-B", "-ntp", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+libs)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fetch Kafka %s through Maven: %v\n%s", version, err, out)
	}
	if err := os.WriteFile(filepath.Join(libs, ".complete"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
