package kafkaserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>echosieve</groupId><artifactId>test-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>%[1]s</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>%[1]s</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
  </dependencies>
</project>
`

// installation is a version of Kafka in the user's cache folder, with files that spare later starts some work.
type installation struct{ dir string }

// classPath names the jars. The logging library must come first. Otherwise Kafka logs nothing, and await
// waits for a line of the log.
func (i installation) classPath() string {
	return filepath.Join(i.dir, "slf4j-simple-1.7.36.jar") + ":" + filepath.Join(i.dir, "*")
}

// ConsoleConsumer is Kafka's own consumer for the console, in Java: it writes values, a line each.
func ConsoleConsumer(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "java", append([]string{"-XX:TieredStopAtLevel=1", "-cp",
		install(t, V4).classPath(), "org.apache.kafka.tools.consumer.ConsoleConsumer"}, args...)...)
}

// classes is an archive of the classes as Java has loaded them. A start with it takes a third less CPU time.
// Java ignores it if it is missing or does not fit.
func (i installation) classes() string { return filepath.Join(i.dir, "classes.jsa") }

// install returns a version of Kafka. Maven downloads the jars if they are not in the cache.
func install(t testing.TB, version string) installation {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		_, err := exec.LookPath(tool)
		require.NoError(t, err, "real Kafka needs %s; run: .ci/setup test", tool)
	}
	return installation{Cached(t, "kafka-tools-"+version, func(dir string) {
		fetch(t, version, dir)
		archive(t, installation{dir})
	})}
}

// Cached returns a folder in the user's cache folder, which fill has filled. Several test processes may need the same
// folder: the first one fills it, the others wait.
func Cached(t testing.TB, name string, fill func(dir string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "echosieve-test", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err != nil {
		fill(dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".complete"), nil, 0o644))
	}
	return dir
}

// useClasses is the argument with which Java uses the archive.
func (i installation) useClasses() string { return "-XX:SharedArchiveFile=" + i.classes() }

// archive writes the archive of classes: Java does so at the end of a broker. Some Java machines cannot.
func archive(t testing.TB, kafka installation) {
	t.Helper()
	own := fmt.Sprintf("%s-%d", kafka.classes(), os.Getpid())
	ctx, cancel := context.WithCancelCause(t.Context())
	h := host.New(ctx, cancel)
	defer h.Close()
	err := h.Do(func() {
		s := start(h, kafka, "-XX:ArchiveClassesAtExit="+own, nil)
		s.process.Stop(5 * time.Minute)
		s.process = nil
	})
	if err == nil {
		err = os.Rename(own, kafka.classes())
	}
	if err != nil {
		t.Logf("Kafka starts without an archive of classes: %v", err)
	}
}

func fetch(t testing.TB, version, libs string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pom.xml"), fmt.Appendf(nil, pom, version), 0o644))
	cmd := exec.CommandContext(t.Context(), "mvn", "-B", "-ntp", "-q", "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+libs)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "fetch Kafka %s through Maven: %s", version, out)
}
