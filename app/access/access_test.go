package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"echosieve/app/config"
	"echosieve/test/certs"
	"echosieve/test/commandtest"
	"echosieve/test/host"
)

const token = "0123456789abcdef0123456789abcdef"

// hash is the bcrypt hash of a password, made with the least work.
func hash(t *testing.T, password string) string {
	t.Helper()
	made, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	return string(made)
}

// users are the settings of users whose password is "secret".
func users(t *testing.T, names ...string) string {
	text := "basic_auth_users:\n"
	for _, name := range names {
		text += "  " + name + ": " + hash(t, "secret") + "\n"
	}
	return text
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// settings are those of a listener on loopback whose files hold the texts; an empty text: there is no file.
func settings(t *testing.T, web, secret string) config.HTTPConfig {
	t.Helper()
	cfg, dir := config.Default().HTTP, t.TempDir()
	if web != "" {
		cfg.ConfigFile = write(t, filepath.Join(dir, "web.yaml"), web)
	}
	if secret != "" {
		cfg.TokenFile = write(t, filepath.Join(dir, "token"), secret)
	}
	return cfg
}

func load(t *testing.T, cfg config.HTTPConfig) *Access {
	t.Helper()
	a, err := Load(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return a
}

var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })

func requires(t *testing.T, a *Access, path string, logins map[string]int) {
	t.Helper()
	for login, want := range logins {
		require.Equal(t, want, status(a, path, login), "%s with %q", path, login)
	}
}

// status is the answer to a request with the login "user:password", "token TOKEN" or none.
func status(a *Access, path, login string) int {
	r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	if secret, isToken := strings.CutPrefix(login, "token "); isToken {
		r.Header.Set("Authorization", "Bearer "+secret)
	} else if user, password, given := strings.Cut(login, ":"); given {
		r.SetBasicAuth(user, password)
	}
	a.Protect(page).ServeHTTP(w, r)
	return w.Code
}

func TestLogins(t *testing.T) {
	users := "basic_auth_users:\n  alice: " + hash(t, "secret") + "\n  bob: " + hash(t, "other") + "\n"
	for name, test := range map[string]struct {
		web, token string
		logins     map[string]int
	}{
		"no login": {"", "", map[string]int{"": 200, "eve:x": 200}},
		"TLS only": {"tls_server_config: {}\n", "", map[string]int{"": 200}},
		"users": {users, "", map[string]int{"": 401, "alice:secret": 200, "bob:other": 200, "alice:other": 401,
			"alice:": 401, "eve:secret": 401, ":": 401, "token " + token: 401}},
		"token": {"", token + "\n", map[string]int{"": 401, "token " + token: 200, "token x" + token: 401,
			"token ": 401, "alice:" + token: 401}},
		"both": {users, token, map[string]int{"": 401, "alice:secret": 200, "token " + token: 200,
			"token secret": 401}},
		"empty web": {"", token, map[string]int{"token " + strings.ToUpper(token): 401}},
	} {
		t.Run(name, func(t *testing.T) {
			a := load(t, settings(t, test.web, test.token))
			for range 2 { // the second time the password is known
				for _, path := range []string{"/", "/console/", "/debug/pprof/", "/v1/look", "/metrics/x"} {
					requires(t, a, path, test.logins)
				}
				for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
					requires(t, a, path, map[string]int{"": 200, "eve:x": 200, "token x": 200})
				}
			}
		})
	}
	cfg := settings(t, users, "")
	cfg.Open = []string{"/healthz"}
	a := load(t, cfg)
	requires(t, a, "/metrics", map[string]int{"": 401, "alice:secret": 200})
	requires(t, a, "/healthz", map[string]int{"": 200})
}

// Whoever guesses passwords keeps one core busy. Meanwhile the known logins and the token pass, also after a
// reload that leaves their hash, and a new login is told to try again.
func TestKnownLoginsPassWhileOthersGuess(t *testing.T) {
	alice := "basic_auth_users:\n  alice: " + hash(t, "secret") + "\n"
	cfg := settings(t, alice, token)
	a := load(t, cfg)
	require.Equal(t, http.StatusOK, status(a, "/", "alice:secret"))
	a.comparing.Lock() // a guess is being compared
	write(t, cfg.ConfigFile, alice+"  bob: "+hash(t, "secret")+"\n")
	logins := map[string]int{"": 401, "alice:secret": 200, "token " + token: 200, "alice:guess": 429, "bob:secret": 429,
		"eve:guess": 429}
	requires(t, a, "/", logins)
	requires(t, a, "/readyz", map[string]int{"eve:guess": 200})
	a.comparing.Unlock()
	requires(t, a, "/", map[string]int{"alice:guess": 401, "bob:secret": 200})
	write(t, cfg.ConfigFile, users(t, "alice", "bob"))
	a.comparing.Lock()
	requires(t, a, "/", map[string]int{"alice:secret": 429, "bob:secret": 429}) // other hashes
}

// The time of an answer does not tell which users exist, also if their hashes differ in cost.
func TestUnknownUsersTakeAsLong(t *testing.T) {
	dear, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost+5)
	require.NoError(t, err)
	a := load(t, settings(t, users(t, "alice")+"  bob: "+string(dear)+"\n", ""))
	took := map[string]time.Duration{}
	for _, login := range []string{"alice:guess", "bob:guess", "eve:guess"} {
		took[login] = host.CPU(t, 200*time.Millisecond, func() {
			require.Equal(t, http.StatusUnauthorized, status(a, "/", login))
		})
	}
	for login, d := range took { // alice alone would take a 32nd
		require.InEpsilon(t, float64(took["bob:guess"]), float64(d), .5, "%s: %v", login, took)
	}
}

// encrypted are the settings of TLS with a certificate, without the last bracket.
func encrypted(p certs.Pair) string {
	return "tls_server_config: {cert_file: " + p.Cert + ", key_file: " + p.Key
}

func TestMistakesInFiles(t *testing.T) {
	for web, want := range map[string]string{
		"basic_auth_users: {a: secret}":                                 "htpasswd",
		"basic_auth_users: {a: $2y$15$" + strings.Repeat("x", 53) + "}": "cost 15",
		"users: {a: b}":                            "basic_auth_users",
		"rate_limit: {burst: 1}":                   "rate_limit",
		"tls_server_config: {cert_file: none.pem}": "cert_file and key_file",
		"tls_server_config: {min_version: TLS12}":  "cert_file and key_file, and basic",
	} {
		cfg := settings(t, web, "")
		_, err := Load(cfg, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "http.config_file: ", web)
		require.ErrorContains(t, err, want, web)
	}
	_, err := Load(settings(t, "", "short"), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "openssl rand -hex 32")
	_, err = Load(config.HTTPConfig{ConfigFile: "/none"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "http.config_file: open /none")
}

// Articles are served on loopback, or behind a login.
func TestArticlesNeedALogin(t *testing.T) {
	pair := certs.NewAuthority(t).Server()
	for listen, needs := range map[string]bool{
		"127.0.0.1:0": false, "127.9.9.9:1": false, "[::1]:1": false, "localhost:1": false,
		":9464": true, "0.0.0.0:9464": true, "[::]:9464": true, "10.0.0.1:9464": true,
		"echosieve.internal:9464": true, "localhost.example:1": true,
	} {
		for _, test := range []struct {
			web, token string
			login      bool
		}{
			{"", "", false},
			{encrypted(pair) + "}", "", false},
			{"basic_auth_users: {a: " + hash(t, "b") + "}", "", true},
			{"", token, true},
		} {
			cfg := settings(t, test.web, test.token)
			cfg.Listen = listen
			_, err := Load(cfg, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			cfg.Console = true
			_, err = Load(cfg, slog.New(slog.DiscardHandler))
			if needs && !test.login {
				require.ErrorContains(t, err, "http.console shows articles to everybody who reaches "+listen)
			} else {
				require.NoError(t, err, "%s %+v", listen, test)
			}
			require.Equal(t, needs && test.login, SendsPasswords(cfg), "%s %+v", listen, test)
		}
	}
}

// The password of http.generated_login is in the log alone. It holds until the next start,
// also when files have changed.
func TestGeneratedLogin(t *testing.T) {
	start := func(cfg config.HTTPConfig) (*Access, string) {
		cfg.Generated = true
		var log bytes.Buffer
		a, err := Load(cfg, slog.New(slog.NewJSONHandler(&log, nil)))
		require.NoError(t, err)
		var line struct{ User, Password string }
		require.NoError(t, json.Unmarshal(log.Bytes(), &line))
		require.Equal(t, "echosieve", line.User)
		require.Len(t, line.Password, 26)
		return a, line.User + ":" + line.Password
	}
	cfg := settings(t, "", "")
	cfg.Console, cfg.Listen = true, ":9464"
	require.False(t, SendsPasswords(cfg))
	a, login := start(cfg)
	requires(t, a, "/console/", map[string]int{"": 401, "echosieve:": 401, login: 200})
	requires(t, a, "/readyz", map[string]int{"": 200})
	cfg.Generated = true
	require.True(t, SendsPasswords(cfg))
	again, _ := start(cfg)
	requires(t, again, "/console/", map[string]int{login: 401})
	cfg = settings(t, users(t, "alice"), "")
	a, login = start(cfg)
	requires(t, a, "/console/", map[string]int{login: 200, "alice:secret": 200})
	write(t, cfg.ConfigFile, users(t, "alice-2"))
	requires(t, a, "/console/", map[string]int{login: 200, "alice-2:secret": 200})

	a, login = start(settings(t, users(t, "echosieve"), ""))
	requires(t, a, "/console/", map[string]int{"echosieve:secret": 200, login: 401}) // the file's user wins
}

// A reload opens nothing: what a start would refuse, and what would take the login away, is a mistake. All
// requests get 503 until it is mended.
func TestReloadJudgesAsTheStart(t *testing.T) {
	encrypted, users := encrypted(certs.NewAuthority(t).Server())+"}\n", users(t, "alice")
	for name, files := range map[string]struct{ before, after string }{
		"no login":      {users, "{}"},
		"an empty file": {users, ""},
		"no TLS":        {encrypted + users, users},
		"TLS":           {users, encrypted + users},
	} {
		cfg := settings(t, files.before, "")
		a := load(t, cfg)
		write(t, cfg.ConfigFile, files.after)
		for range 2 {
			require.Equal(t, http.StatusServiceUnavailable, status(a, "/console/", ""), name)
			require.Equal(t, http.StatusOK, status(a, "/readyz", ""), name)
		}
		write(t, cfg.ConfigFile, files.before)
		require.NotEqual(t, http.StatusServiceUnavailable, status(a, "/console/", ""), "%s, mended", name)
	}
}

// A mistake in one file lets nobody in until it is mended, whoever logs in, and is said once.
func TestMistakesLetNobodyIn(t *testing.T) {
	good := users(t, "alice", "bob")
	cfg := settings(t, good, token)
	var log bytes.Buffer
	a, err := Load(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	all := func(code int) map[string]int {
		return map[string]int{"token " + token: code, "alice:secret": code, "bob:secret": code}
	}
	for text, file := range map[string]string{
		"basic_auth_users: {alice: x}": cfg.ConfigFile, "- ": cfg.ConfigFile, "short": cfg.TokenFile,
		"tls_server_config: {cert_file: none.pem, key_file: none.pem}\n" + good: cfg.ConfigFile,
	} {
		requires(t, a, "/", all(http.StatusOK))
		log.Reset()
		write(t, file, text)
		requires(t, a, "/", all(http.StatusServiceUnavailable))
		requires(t, a, "/healthz", all(http.StatusOK))
		setting := map[string]string{cfg.ConfigFile: "http.config_file: ", cfg.TokenFile: "http.token_file: "}[file]
		require.Equal(t, 1, strings.Count(log.String(), setting), "said once: %s", log.String())
		write(t, cfg.ConfigFile, good)
		write(t, cfg.TokenFile, token)
	}
	require.NoError(t, os.Remove(cfg.TokenFile))
	requires(t, a, "/", all(http.StatusServiceUnavailable))
}

// A login that is revoked is out at once, also by a file of the same size and time.
func TestRevokedLoginsAreOutAtOnce(t *testing.T) {
	cfg := settings(t, users(t, "alice", "bob"), token)
	a := load(t, cfg)
	requires(t, a, "/", map[string]int{"token " + token: 200, "alice:secret": 200, "bob:secret": 200})
	for file, text := range map[string]string{
		cfg.TokenFile: strings.ToUpper(token), cfg.ConfigFile: users(t, "alice", "eve"),
	} {
		before, err := os.Stat(file)
		require.NoError(t, err)
		require.Len(t, text, int(before.Size()))
		write(t, file, text)
		require.NoError(t, os.Chtimes(file, before.ModTime(), before.ModTime()))
	}
	requires(t, a, "/", map[string]int{"token " + token: 401, "bob:secret": 401, "eve:secret": 200,
		"alice:secret": 200})
}

// The token goes to an Echosieve that asks for it only, and by TLS only to the holder of our certificate.
func TestAskSendsTheTokenToNobodyElse(t *testing.T) {
	var sent []string
	challenge, code := "", http.StatusOK
	held := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login := r.Header.Get("Authorization"); login != "" {
			sent = append(sent, login)
			return
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(code)
	})
	server := httptest.NewServer(held)
	t.Cleanup(server.Close)
	cfg := settings(t, "", token)
	cfg.Listen = strings.TrimPrefix(server.URL, "http://")
	ask := func() error {
		res, err := Ask(t.Context(), cfg, "/readyz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	for _, other := range []string{"", "Bearer", `Basic realm="x"`} {
		for _, code = range []int{http.StatusOK, http.StatusUnauthorized} {
			challenge = other
			require.NoError(t, ask())
		}
	}
	require.Empty(t, sent)
	challenge = "Bearer " + Realm
	require.NoError(t, ask())
	require.Equal(t, []string{"Bearer " + token}, sent)

	sent = nil
	stranger := httptest.NewTLSServer(held)
	stranger.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	t.Cleanup(stranger.Close)
	pair := certs.NewAuthority(t).Server()
	cfg = settings(t, encrypted(pair)+"}", token)
	cfg.Listen = strings.TrimPrefix(stranger.URL, "https://")
	require.ErrorContains(t, ask(), "another certificate")
	require.Empty(t, sent)
}

// The listener speaks TLS with certificates that are replaced while it runs, and without one that has mistakes.
func TestTLS(t *testing.T) {
	old, next := certs.NewAuthority(t), certs.NewAuthority(t)
	cfg := settings(t, "{}", "")
	dir := filepath.Dir(cfg.ConfigFile)
	replace := func(from certs.Pair) {
		for name, file := range map[string]string{"cert.pem": from.Cert, "key.pem": from.Key} {
			write(t, filepath.Join(dir, name), commandtest.Read(t, file))
		}
	}
	replace(old.Server())
	write(t, cfg.ConfigFile, "tls_server_config: {cert_file: cert.pem, key_file: key.pem}")
	a := load(t, cfg)
	server := httptest.NewUnstartedServer(a.Protect(page))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.TLS = a.TLS()
	server.StartTLS()
	t.Cleanup(server.Close)
	conf := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: conf}}
	trust := func(a *certs.Authority) { conf.RootCAs.AppendCertsFromPEM([]byte(commandtest.Read(t, a.File))) }
	get := func() (int, error) {
		answer, err := client.Get(server.URL)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	refused := func(why string) {
		_, err := get()
		require.ErrorContains(t, err, why)
	}
	answers := func(want int) {
		got, err := get()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	trust(old)
	answers(http.StatusOK)
	conf.MinVersion, conf.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	refused("protocol version")
	conf.MinVersion, conf.MaxVersion = 0, 0
	write(t, filepath.Join(dir, "cert.pem"), "half a cert")
	answers(http.StatusServiceUnavailable) // which the last good certificate carries
	replace(next.Server())
	refused("unknown authority")
	trust(next)
	answers(http.StatusOK)
}

// A mount that hangs keeps requests that need a login waiting. Probes get their answer, also by TLS.
func TestAHungMountFailsNoProbe(t *testing.T) {
	pair := certs.NewAuthority(t).Server()
	text := encrypted(pair) + "}\n" + users(t, "alice")
	cfg := settings(t, text, "")
	a := load(t, cfg)
	server := httptest.NewUnstartedServer(a.Protect(page))
	server.TLS = a.TLS()
	server.StartTLS()
	t.Cleanup(server.Close)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string) int {
		answer, err := client.Get(server.URL + path)
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	require.NoError(t, os.Remove(cfg.ConfigFile))
	require.NoError(t, syscall.Mkfifo(cfg.ConfigFile, 0o600))
	hanging, err := os.OpenFile(cfg.ConfigFile, os.O_RDWR, 0) // who reads it waits until this is closed
	require.NoError(t, err)
	t.Cleanup(func() { _ = hanging.Close() })
	waiting := make(chan int, 1)
	go func() { waiting <- get("/") }()
	for range 2 {
		require.Equal(t, http.StatusOK, get("/healthz"))
	}
	require.Empty(t, waiting)
	require.NoError(t, os.Remove(cfg.ConfigFile))
	write(t, cfg.ConfigFile, text)
	require.NoError(t, hanging.Close())
	require.Equal(t, http.StatusUnauthorized, <-waiting)
	requires(t, a, "/", map[string]int{"": 401, "alice:secret": 200})
}
