package security

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/certs"
	"echosieve/test/commandtest"
	"echosieve/test/host"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// alone are the settings of a service without servers: it starts, waits for them and serves HTTP.
var alone = service.Settings{"kafka.brokers": "127.0.0.1:1", "redis.addrs": "127.0.0.1:1"}

// The service runs as in the image: as an ordinary user without rights, in a working directory that it cannot
// write to, with one writable folder. It leaves no file in that folder, and has no file open for writing.
func TestRunsWithoutRightsAndDisk(t *testing.T) {
	t.Parallel()
	//nolint:usetesting // the folder above t.TempDir is closed to other users
	tmp, err := os.MkdirTemp("", "echosieve-tmp-*")
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
	p.Await(t, "/healthz", "200")
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

// The commands check and run refuse expired certificates and old versions of TLS, and name a cause and a
// remedy for each. With insecure_skip_verify they accept an expired certificate and warn.
func TestCertificatesAndVersions(t *testing.T) {
	t.Parallel()
	f := &fortress{authority: certs.NewAuthority(t)}
	expired, good := f.authority.Expired("127.0.0.1"), f.authority.ServerOn("127.0.0.1")
	tooOld := []string{"--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0"}
	secured := alone.With(settings{
		"kafka.tls.enabled": "true", "kafka.tls.ca_file": f.authority.File,
		"redis.tls.enabled": "true", "redis.tls.ca_file": f.authority.File,
	})
	for _, c := range []struct {
		name, component, address, cause, remedy string
	}{
		{"kafka: expired", "kafka", handshakes(t, expired, tls.VersionTLS13), "certificate has expired", "renew it"},
		{"kafka: TLS 1.1", "kafka", handshakes(t, good, tls.VersionTLS11), "speaks no TLS 1.2 or later",
			"ssl.enabled.protocols"},
		{"redis: expired", "redis", f.startRedis(t, expired), "certificate has expired", "renew it"},
		{"redis: TLS 1.1", "redis", f.startRedis(t, good, tooOld...), "speaks no TLS 1.2 or later", "tls-protocols"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := secured.With(settings{map[string]string{"kafka": "kafka.brokers",
				"redis": "redis.addrs"}[c.component]: c.address})
			findings := f.check(t, 1, s)
			var said bool
			for _, bad := range failures(findings) {
				if bad.Component == c.component {
					said = true
					require.Contains(t, bad.Problem, c.cause)
					require.Contains(t, bad.Remedy, c.remedy)
				}
			}
			require.True(t, said, "%+v", findings)
			p := f.run(t, s)
			p.waitFor(t, c.remedy, c.component == "kafka")
			p.end(t)
			require.Contains(t, p.Log(), c.cause)
			require.NotContains(t, p.Log(), "insecure_skip_verify")
		})
	}
	t.Run("verification off", func(t *testing.T) {
		s := secured.With(settings{"redis.addrs": f.startRedis(t, expired), "redis.tls.insecure_skip_verify": "true",
			"redis.tls.ca_file": ""})
		findings := f.check(t, commandtest.Any, s)
		require.Contains(t, findings, finding{
			"redis", "warning", "settings",
			"redis.tls.insecure_skip_verify is set: anyone who can redirect a connection can read and change everything",
			"remove it, and name the authority in redis.tls.ca_file",
		})
		for _, bad := range failures(findings) {
			require.Equal(t, "kafka", bad.Component, "%+v", bad)
		}
		p := f.run(t, s)
		p.waitFor(t, `"connection is up" component=redis`, false)
		p.end(t)
		require.Contains(t, p.Log(), "redis.tls.insecure_skip_verify is set")
	})
}

// handshakes starts a listener that makes the TLS handshake of a broker and then closes the connection.
func handshakes(t *testing.T, pair certs.Pair, version uint16) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert},
		MinVersion: tls.VersionTLS10, MaxVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// startRedis starts a Redis with this certificate and returns the address of its TLS port.
func (f *fortress) startRedis(t *testing.T, pair certs.Pair, args ...string) string {
	t.Helper()
	addr := host.Addr(host.Ports(t, 1)[0])
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	redisserver.Start(t, append([]string{
		"--tls-port", port, "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key,
		"--tls-ca-cert-file", f.authority.File, "--tls-auth-clients", "no",
	}, args...)...)
	return addr
}
