package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"echosieve/app/config"
	"echosieve/test/certs"
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

// status is the answer to a request with the login "user:password", "token TOKEN" or none.
func status(a *Access, path, login string) int { return statusFrom(a, "192.0.2.9", path, login) }

// requires asks for a path with each login, and requires the status.
func requires(t *testing.T, a *Access, path string, logins map[string]int) {
	t.Helper()
	for login, want := range logins {
		require.Equal(t, want, status(a, path, login), "%s with %q", path, login)
	}
}

// statusFrom is status for a request from an address.
func statusFrom(a *Access, from, path, login string) int {
	r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	r.RemoteAddr = from + ":1"
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

// Whoever guesses passwords keeps one core busy, and holds up nobody: a right login waits for one comparison,
// from the address of the guesser, too.
func TestRightLoginsPassWhileOthersGuess(t *testing.T) {
	a := load(t, settings(t, "basic_auth_users: {alice: "+hash(t, "secret")+", bob: "+hash(t, "other")+"}\n", ""))
	waiting := func(n int) { await(t, &a.checking, n) }
	for i := range 3 {
		require.Equal(t, http.StatusUnauthorized, statusFrom(a, fmt.Sprintf("10.0.0.%d", i), "/", "alice:guess"))
		require.Equal(t, http.StatusUnauthorized, statusFrom(a, fmt.Sprintf("2001:db8::%d", i), "/", "eve:guess"))
	}
	held := guesser{address: "192.0.2.1"}
	require.True(t, a.checking.enter(t.Context(), held)) // a guess is being compared
	var guessers sync.WaitGroup
	codes := make(chan int, 2*maxWaiting)
	for i := range maxWaiting {
		guessers.Go(func() {
			if i%2 == 0 {
				codes <- statusFrom(a, fmt.Sprintf("10.0.0.%d", i%3), "/", "alice:guess")
			} else {
				codes <- statusFrom(a, fmt.Sprintf("[2001:db8::%d]", i), "/", "eve:guess")
			}
		})
	}
	waiting(maxWaiting)
	require.Equal(t, http.StatusTooManyRequests, statusFrom(a, "10.0.0.1", "/", "alice:guess"), "one guess more")
	right := make(chan int, 2)
	guessers.Go(func() { right <- statusFrom(a, "198.51.100.7", "/", "alice:secret") })
	guessers.Go(func() { right <- statusFrom(a, "10.0.0.1", "/", "bob:other") })
	require.Equal(t, http.StatusTooManyRequests, <-codes, "a guesser makes room")
	require.Equal(t, http.StatusTooManyRequests, <-codes)
	waiting(maxWaiting)
	a.checking.leave(held, false)
	require.Equal(t, [2]int{http.StatusOK, http.StatusOK}, [2]int{<-right, <-right})
	guessers.Wait()
	require.Equal(t, http.StatusOK, statusFrom(a, "10.0.0.1", "/", "alice:secret"))
	require.Empty(t, a.checking.waiting)
	require.False(t, a.checking.busy)

	for i := range 2 * maxGuessers {
		a.checking.note(guesser{address: fmt.Sprint(i)})
	}
	require.LessOrEqual(t, len(a.checking.wrong), maxGuessers)
	ended, end := context.WithCancel(t.Context())
	require.True(t, a.checking.enter(ended, held))
	end()
	require.False(t, a.checking.enter(ended, held), "who is gone does not wait")
	a.checking.leave(held, true)
	require.True(t, a.checking.enter(t.Context(), held))
}

// await waits until so many wait in the queue.
func await(t *testing.T, q *queue, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.waiting) == n
	}, time.Minute, time.Millisecond)
}

// Who has the turn says so before anybody else has it: the order depends on no clock.
func TestRightLoginsComeBeforeGuesses(t *testing.T) {
	var q queue
	wrong, right, held := guesser{address: "192.0.2.1"}, guesser{address: "192.0.2.2"}, guesser{address: "192.0.2.3"}
	q.note(wrong)
	require.True(t, q.enter(t.Context(), held))
	turns := make(chan guesser, 4)
	for i, from := range []guesser{wrong, right, wrong, right} {
		go func() {
			if q.enter(t.Context(), from) {
				turns <- from
				q.leave(from, from == right)
			}
		}()
		await(t, &q, i+1)
	}
	q.leave(held, false)
	require.Equal(t, [4]guesser{right, right, wrong, wrong}, [4]guesser{<-turns, <-turns, <-turns, <-turns})
}

// encrypted are the settings of TLS with a certificate, without the last bracket.
func encrypted(p certs.Pair) string {
	return "tls_server_config: {cert_file: " + p.Cert + ", key_file: " + p.Key
}

// certed are those of a listener that demands certificates of clients.
func certed(p certs.Pair, ca string) string {
	return encrypted(p) + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " + ca + "}\n"
}

func TestMistakesInFiles(t *testing.T) {
	pair := certs.NewAuthority(t).Server()
	withTLS := encrypted(pair)
	for web, want := range map[string]string{
		"basic_auth_users: {a: secret}":                                 "htpasswd",
		"basic_auth_users: {a: $2y$15$" + strings.Repeat("x", 53) + "}": "cost 15",
		"users: {a: b}":                                             "basic_auth_users",
		"rate_limit: {burst: 1}":                                    "rate_limit",
		"tls_server_config: {cert_file: none.pem}":                  "cert_file and key_file",
		"tls_server_config: {min_version: TLS12}":                   "cert_file and key_file are missing",
		withTLS + ", min_version: TLS10}":                           "TLS12 or TLS13",
		withTLS + ", client_auth_type: Maybe}":                      "RequireAndVerifyClientCert",
		withTLS + ", client_auth_type: RequireAndVerifyClientCert}": "client_ca_file",
		withTLS + ", client_ca_file: x.pem}":                        "client_ca_file",
		withTLS + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " + pair.Key +
			"}": "no PEM certificate",
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
	authority := certs.NewAuthority(t)
	pair := authority.Server()
	certed := certed(pair, authority.File)
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
			{certed, "", true},
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
			require.Equal(t, needs && test.login && test.web != certed, SendsPasswords(cfg), "%s %+v", listen, test)
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
	again, other := start(cfg)
	require.NotEqual(t, login, other)
	requires(t, again, "/console/", map[string]int{login: 401})

	cfg = settings(t, users(t, "alice"), "")
	a, login = start(cfg)
	requires(t, a, "/console/", map[string]int{login: 200, "alice:secret": 200})
	write(t, cfg.ConfigFile, users(t, "alice-2"))
	requires(t, a, "/console/", map[string]int{login: 200, "alice-2:secret": 200})

	a, login = start(settings(t, users(t, "echosieve"), ""))
	requires(t, a, "/console/", map[string]int{"echosieve:secret": 200, login: 401}) // the file's user wins
}

// A reload opens nothing that a start would refuse.
func TestReloadJudgesAsTheStart(t *testing.T) {
	authority := certs.NewAuthority(t)
	pair := authority.Server()
	encrypted, certed := encrypted(pair)+"}\n", certed(pair, authority.File)
	users := users(t, "alice")
	given := strings.Replace(certed, "RequireAndVerifyClientCert", "VerifyClientCertIfGiven", 1)
	for name, test := range map[string]struct {
		before, after string
		console       bool
		want          int
	}{
		"console behind certificates":      {certed, encrypted, true, http.StatusOK},
		"metrics behind certificates":      {certed, encrypted, false, http.StatusOK},
		"certificates that need not come":  {certed, given, true, http.StatusOK},
		"a login in place of certificates": {certed, encrypted + users, true, http.StatusUnauthorized},
		"no login":                         {users, "{}", true, http.StatusUnauthorized},
	} {
		cfg := settings(t, test.before, "")
		cfg.Console, cfg.Listen = test.console, "0.0.0.0:1"
		a := load(t, cfg)
		write(t, cfg.ConfigFile, test.after)
		require.Equal(t, test.want, status(a, "/console/", ""), name)
		require.Equal(t, test.want == http.StatusOK, a.rules().certed, "%s: the certificate is still demanded", name)
	}
}

// A token or user that is revoked is out at once, whatever is wrong with the other file or the certificates.
// A login that stays is not asked for its password again.
func TestRevokedLoginsDieBesideMistakes(t *testing.T) {
	other := strings.Repeat("z", minToken)
	cfg := settings(t, users(t, "alice", "bob"), token)
	var log bytes.Buffer
	a, err := Load(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	requires(t, a, "/", map[string]int{"token " + token: 200, "alice:secret": 200})
	for _, mistake := range []string{"basic_auth_users: {alice: x}", "- ",
		"tls_server_config: {cert_file: none.pem, key_file: none.pem}\n" + users(t, "alice")} {
		write(t, cfg.TokenFile, token)
		write(t, cfg.ConfigFile, users(t, "alice", "bob"))
		require.Equal(t, http.StatusOK, status(a, "/", "token "+token))
		log.Reset()
		write(t, cfg.ConfigFile, mistake)
		write(t, cfg.TokenFile, other)
		requires(t, a, "/", map[string]int{"token " + token: 401, "token " + other: 200})
		require.Equal(t, 1, strings.Count(log.String(), "http.config_file"), "said once: %s", log.String())
	}
	write(t, cfg.ConfigFile, users(t, "alice", "bob"))
	require.Equal(t, http.StatusOK, status(a, "/", "bob:secret"))
	write(t, cfg.TokenFile, "short")
	write(t, cfg.ConfigFile, users(t, "alice"))
	require.Equal(t, http.StatusUnauthorized, status(a, "/", "bob:secret"))
	withCarol := "tls_server_config: {cert_file: none.pem, key_file: none.pem}\n" + users(t, "carol")
	write(t, cfg.ConfigFile, withCarol)
	requires(t, a, "/", map[string]int{"alice:secret": 401, "carol:secret": 200})
	require.True(t, a.checking.enter(t.Context(), guesser{address: "192.0.2.1"}))
	write(t, cfg.ConfigFile, withCarol+users(t, "dave")[len("basic_auth_users:\n"):])
	require.Equal(t, http.StatusOK, status(a, "/", "carol:secret"), "known across a reload")
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

// serve returns the address of a listener with TLS, and a client that knows the authority.
func serve(t *testing.T, a *Access, authority *certs.Authority) (string, *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(a.Protect(page))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.Listener = tls.NewListener(server.Listener, a.TLS())
	server.Start()
	t.Cleanup(server.Close)
	pem, err := os.ReadFile(authority.File)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return strings.Replace(server.URL, "http:", "https:", 1), &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}}
}

// get requests the page and returns the version of TLS.
func get(client *http.Client, url string) (version uint16, err error) {
	res, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	return res.TLS.Version, res.Body.Close()
}

// The listener speaks TLS with certificates that are replaced while it runs, and without one that has mistakes.
func TestTLS(t *testing.T) {
	old, next := certs.NewAuthority(t), certs.NewAuthority(t)
	cfg := settings(t, "{}", "")
	dir := filepath.Dir(cfg.ConfigFile)
	replace := func(from certs.Pair) {
		for name, file := range map[string]string{"cert.pem": from.Cert, "key.pem": from.Key} {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			write(t, filepath.Join(dir, name), string(data))
		}
	}
	replace(old.Server())
	write(t, cfg.ConfigFile, "tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: TLS13}")
	a := load(t, cfg)
	url, client := serve(t, a, old)
	conf := client.Transport.(*http.Transport).TLSClientConfig
	version, err := get(client, url)
	require.NoError(t, err)
	require.Equal(t, uint16(tls.VersionTLS13), version)
	conf.MaxVersion = tls.VersionTLS12
	_, err = get(client, url)
	require.ErrorContains(t, err, "protocol version")
	conf.MaxVersion = 0
	write(t, filepath.Join(dir, "cert.pem"), "half a cert")
	_, err = get(client, url)
	require.NoError(t, err, "the certificate in force stays")
	replace(next.Server())
	_, err = get(client, url)
	require.ErrorContains(t, err, "unknown authority")
	pem, err := os.ReadFile(next.File)
	require.NoError(t, err)
	conf.RootCAs.AppendCertsFromPEM(pem)
	_, err = get(client, url)
	require.NoError(t, err)

	write(t, cfg.ConfigFile, certed(certs.Pair{Cert: "cert.pem", Key: "key.pem"}, next.File))
	_, err = get(client, url)
	require.Error(t, err)
	pair := next.Client("me")
	me, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	require.NoError(t, err)
	conf.Certificates = []tls.Certificate{me}
	_, err = get(client, url)
	require.NoError(t, err)
}
