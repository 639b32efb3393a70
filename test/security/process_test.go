package security

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/test/service"
)

// alone are the settings of a service without servers: it starts, waits for them and serves HTTP.
var alone = service.Settings{"kafka.brokers": "127.0.0.1:1", "redis.addrs": "127.0.0.1:1"}

// waitServing waits until the service answers HTTP requests.
func waitServing(t *testing.T, p *service.Process) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.HasPrefix(p.Get("/healthz"), "200") }, service.Patience,
		50*time.Millisecond)
}

// The service runs as in the image: as an ordinary user without rights, in a working directory that it cannot
// write to, with one writable folder. It leaves no file in that folder, and has no file open for writing.
func TestRunsWithoutRightsAndDisk(t *testing.T) {
	t.Parallel()
	tmp, err := os.MkdirTemp("", "echosieve-tmp-*") //nolint:usetesting // the folder above t.TempDir is closed to other users
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	p := service.Start(t, alone, func(cmd *exec.Cmd) {
		cmd.Dir = "/"
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "HOME=/nowhere")
		if os.Getuid() == 0 {
			const nobody = 65532
			require.NoError(t, os.Chown(tmp, nobody, nobody))
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
	})
	waitServing(t, p)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Cmd.Process.Pid))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/dev/") {
			continue // a file that was closed meanwhile, a socket or a pipe
		}
		info, err := os.ReadFile(strings.Replace(file, "/fd/", "/fdinfo/", 1))
		if err != nil {
			continue
		}
		_, flags, _ := strings.Cut(string(info), "flags:")
		octal, _, _ := strings.Cut(strings.TrimSpace(flags), "\n")
		mode, err := strconv.ParseInt(octal, 8, 64)
		require.NoError(t, err, "%s", info)
		require.Equal(t, int64(os.O_RDONLY), mode&syscall.O_ACCMODE, "%s is open for writing", target)
	}
	require.Zero(t, p.End(t))
}

// A listener on loopback answers on no other address, serves debug pages only if http.pprof is set, and
// disconnects slow clients.
func TestListener(t *testing.T) {
	t.Parallel() // it waits until a slow client is disconnected
	p := service.Start(t, alone)
	waitServing(t, p)
	require.True(t, strings.HasPrefix(p.Get("/debug/pprof/"), "404"),
		"debug pages are served although http.pprof is not set")

	_, port, err := net.SplitHostPort(p.HTTP)
	require.NoError(t, err)
	for _, addr := range otherAddresses(t) {
		if conn, err := net.DialTimeout("tcp", net.JoinHostPort(addr, port), time.Second); err == nil {
			_ = conn.Close()
			t.Errorf("the listener answers on %s", addr)
		}
	}

	conn, err := net.Dial("tcp", p.HTTP)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(service.Patience)))
	start := time.Now()
	for { // a response 408 may come first; then the connection must end
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			break
		}
	}
	require.Less(t, time.Since(start), service.Patience/2)

	asked := service.Start(t, alone.With(service.Settings{"http.pprof": "true"}))
	waitServing(t, asked)
	require.True(t, strings.HasPrefix(asked.Get("/debug/pprof/"), "200"))
}

// otherAddresses are the addresses of this machine except loopback.
func otherAddresses(t *testing.T) []string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	var others []string
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			others = append(others, ip.IP.String())
		}
	}
	return others
}
