// Package access is the login and the TLS of the HTTP listener. The file of http.config_file has the form of Prometheus' web configuration:
// whoever runs Prometheus writes it already. The token of http.token_file is for programs. The password of http.generated_login is in the log.
//
// All files are read again when they have changed. A file with mistakes changes nothing: what was in force stays, and the log says so.
package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/internal/app/config"

	"golang.org/x/crypto/bcrypt"
)

// Access says who may use the listener. A nil Access lets everybody in, without TLS. Safe for concurrent use.
type Access struct {
	cfg      config.HTTPConfig
	log      *slog.Logger
	current  atomic.Pointer[rules]
	reading  sync.Mutex
	read     stamps // of the files that were read last, with or without success; guarded by reading
	salt     [sha256.Size]byte
	checking chan struct{} // one password at a time is compared: it takes a core
	waiting  atomic.Int32
	known    sync.Map // sums of logins that were right, of the current rules
	// generated is the bcrypt hash of the password in the log; nil: none.
	generated []byte
}

// generatedUser is the user of http.generated_login.
const generatedUser = "echosieve"

// rules are what the files say.
type rules struct {
	tls    *tls.Config       // nil: none
	users  map[string][]byte // bcrypt hashes
	token  [sha256.Size]byte // sum of the token; zero: none
	certed bool              // TLS demands a certificate of the client
	stamps stamps
}

// asks says whether requests need a user or the token.
func (r *rules) asks() bool { return len(r.users) > 0 || r.hasToken() }

func (r *rules) hasToken() bool { return r.token != [sha256.Size]byte{} }

// Load reads the files, and makes the login of http.generated_login. It returns nil if the settings name neither. Pages that show articles need a login as soon as http.listen is no
// loopback address: without one, Load returns an error.
func Load(cfg config.HTTPConfig, log *slog.Logger) (*Access, error) {
	r, err := read(cfg)
	if err != nil {
		return nil, err
	}
	a := &Access{cfg: cfg, log: log, checking: make(chan struct{}, 1), read: r.stamps}
	if cfg.Generated {
		if err := a.generate(); err != nil {
			return nil, fmt.Errorf("http.generated_login: %w", err)
		}
		r.admit(a.generated)
	}
	if page := cfg.ShowsArticles(); page != "" && !r.asks() && !r.certed && !isLoopback(cfg.Listen) {
		return nil, fmt.Errorf("%s shows articles to everybody who reaches %s, which is no loopback address: "+
			"set http.config_file to a file with basic_auth_users, or http.token_file, or http.generated_login, or http.listen to 127.0.0.1 and a port", page, cfg.Listen)
	}
	if len(r.stamps) == 0 && a.generated == nil {
		return nil, nil
	}
	if _, err := rand.Read(a.salt[:]); err != nil {
		return nil, err
	}
	a.current.Store(r)
	return a, nil
}

// generate makes a password and writes it to the log.
func (a *Access) generate() (err error) {
	password := rand.Text()
	a.generated, err = bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	a.log.Info("login until the next start", "user", generatedUser, "password", password)
	return err
}

// admit adds the generated user, unless a file has that name.
func (r *rules) admit(hash []byte) {
	if _, named := r.users[generatedUser]; hash == nil || named {
		return
	}
	if r.users == nil {
		r.users = map[string][]byte{}
	}
	r.users[generatedUser] = hash
}

// isLoopback says whether only this machine reaches an address.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// SendsPasswords says whether logins pass a network readable.
func SendsPasswords(cfg config.HTTPConfig) bool {
	r, err := read(cfg)
	return err == nil && (r.asks() || cfg.Generated) && r.tls == nil && !isLoopback(cfg.Listen)
}

// rules returns what the files say now.
func (a *Access) rules() *rules {
	a.reading.Lock()
	defer a.reading.Unlock()
	old := a.current.Load()
	if !a.read.changed() {
		return old
	}
	r, err := read(a.cfg)
	r.admit(a.generated)
	a.read = r.stamps
	switch {
	case err != nil:
	case (r.tls == nil) != (old.tls == nil):
		err = errors.New("TLS cannot be switched on or off while the service runs: restart it")
	case old.asks() && !r.asks():
		err = errors.New("the login cannot be switched off while the service runs: restart it")
	}
	if err != nil {
		a.log.Error("login and certificates of the HTTP listener not reloaded: those in force stay", "err", err)
		return old
	}
	a.known.Clear()
	a.current.Store(r)
	a.log.Info("login and certificates of the HTTP listener reloaded")
	return r
}

// stamps tell changed files from unchanged ones.
type stamps map[string]stamp

type stamp struct {
	size     int64
	modified time.Time
}

// add notes a file before it is read.
func (s stamps) add(name string) { s[name] = stampOf(name) }

func (s stamps) changed() bool {
	for name, then := range s {
		if stampOf(name) != then {
			return true
		}
	}
	return false
}

// stampOf returns zero for a file that cannot be read.
func stampOf(name string) (s stamp) {
	if info, err := os.Stat(name); err == nil {
		s = stamp{info.Size(), info.ModTime()}
	}
	return s
}

// TLS returns the configuration of the listener; nil: it speaks without TLS. Certificates are read again when they have changed.
func (a *Access) TLS() *tls.Config {
	if a == nil || a.current.Load().tls == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return a.rules().tls, nil },
	}
}

// Ask requests a path of the service that listens on this machine with the same settings: with TLS if it has TLS, and with the token if there is
// one. It does not verify the certificate, which names the host that others call. The caller closes the body.
func Ask(ctx context.Context, cfg config.HTTPConfig, path string) (*http.Response, error) {
	r, err := read(cfg)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // the service listens on all addresses of this machine
	}
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true} // which ignores HTTP_PROXY, unlike http.DefaultTransport
	if r.tls != nil {
		scheme, transport.TLSClientConfig = "https", &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if r.hasToken() {
		token, err := os.ReadFile(cfg.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("http.token_file: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	return (&http.Client{Transport: transport}).Do(request)
}
