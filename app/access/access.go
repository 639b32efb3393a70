// Package access is the login and the TLS of the HTTP listener. The file of http.config_file has the form of
// Prometheus' web configuration: whoever runs Prometheus writes it already. The token of http.token_file is
// for programs. The password of http.generated_login is in the log.
//
// The files are one configuration. They are read at every request, and judged as at the start. While one of
// them has a mistake or cannot be read, requests get the answer 503, except at the paths of http.open, and the log
// names the mistake once.
package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"echosieve/app/config"
)

// Access says who may use the listener. A nil Access lets everybody in, without TLS. Safe for concurrent use.
type Access struct {
	cfg config.HTTPConfig
	log *slog.Logger
	// generated is the bcrypt hash of the password in the log; nil: none.
	generated []byte
	salt      [sha256.Size]byte
	comparing sync.Mutex // one password at a time is compared: it takes a core
	// known holds sums of right logins. A sum contains the bcrypt hash, so it ends with the hash.
	known sync.Map

	// reading has room for one reader of the files: with a mount that hangs, more would hold a thread each.
	reading chan struct{}
	last    atomic.Pointer[files]
}

// files are what was read last.
type files struct {
	sums    sums
	inForce *rules
	bad     error // why these files are not in force; nil: they are
}

// generatedUser is the user of http.generated_login.
const generatedUser = "echosieve"

// rules are what the files say.
type rules struct {
	cert  *tls.Certificate  // nil: no TLS
	users map[string][]byte // bcrypt hashes
	cost  int               // the highest of the hashes
	token [sha256.Size]byte // sum of the token; zero: none
}

// asks says whether requests need a user or the token.
func (r *rules) asks() bool { return len(r.users) > 0 || r.hasToken() }

func (r *rules) hasToken() bool { return r.token != [sha256.Size]byte{} }

// judge says why rules cannot be in force. before are those that were in force last, nil at the start.
func (r *rules) judge(cfg config.HTTPConfig, before *rules) error {
	switch page := cfg.ShowsArticles(); {
	case page != "" && !r.asks() && !isLoopback(cfg.Listen):
		return fmt.Errorf("%s shows articles to everybody who reaches %s, which is no loopback address: "+
			"set http.config_file to a file with basic_auth_users, or http.token_file, or http.generated_login, "+
			"or http.listen to 127.0.0.1 and a port", page, cfg.Listen)
	case before == nil:
	case (r.cert == nil) != (before.cert == nil):
		return errors.New("TLS cannot be switched on or off while the service runs: restart it")
	case !r.asks() && before.asks():
		return errors.New("the login cannot be switched off while the service runs: restart it")
	}
	return nil
}

// Load reads the files, and makes the login of http.generated_login. It returns nil if the settings name
// neither. Pages that show articles need a login as soon as http.listen is no loopback address: without one,
// Load returns an error.
func Load(cfg config.HTTPConfig, log *slog.Logger) (*Access, error) {
	a := &Access{cfg: cfg, log: log, reading: make(chan struct{}, 1)}
	_, _ = rand.Read(a.salt[:]) // never fails
	if cfg.Generated {
		password := rand.Text()
		a.generated, _ = bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost) // fails for long passwords
		log.Info("login until the next start", "user", generatedUser, "password", password)
	}
	read := a.read(nil)
	if read.bad != nil {
		return nil, read.bad
	}
	a.last.Store(read)
	if len(read.sums) == 0 && a.generated == nil {
		return nil, nil
	}
	return a, nil
}

// read reads the files. While they have a mistake, the rules before stay in force.
func (a *Access) read(before *rules) *files {
	next, sums, err := readFiles(a.cfg, a.generated)
	if err == nil {
		err = next.judge(a.cfg, before)
	}
	if err != nil {
		next = before
	}
	return &files{sums, next, err}
}

// rules returns the last rules without a mistake, and what is wrong with the files now. It waits for the files until
// ctx ends; then that is the error.
func (a *Access) rules(ctx context.Context) (*rules, error) {
	done := make(chan *files, 1)
	select {
	case a.reading <- struct{}{}:
		go func() {
			done <- a.refresh()
			<-a.reading
		}()
	case <-ctx.Done():
	}
	select {
	case now := <-done:
		return now.inForce, now.bad
	case <-ctx.Done():
		return a.last.Load().inForce, fmt.Errorf("the files of the login cannot be read: %w", ctx.Err())
	}
}

// refresh reads the files again if they have changed.
func (a *Access) refresh() *files {
	last := a.last.Load()
	if !last.sums.changed() {
		return last
	}
	now := a.read(last.inForce)
	a.last.Store(now)
	if now.bad != nil {
		a.log.Error("login and certificates of the HTTP listener have a mistake: until it is mended, requests get "+
			"the answer 503, except at the paths of http.open", "err", now.bad)
	} else {
		a.log.Info("login and certificates of the HTTP listener reloaded")
	}
	return now
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
	r, _, err := readFiles(cfg, nil)
	return err == nil && (r.asks() || cfg.Generated) && r.cert == nil && !isLoopback(cfg.Listen)
}

// sums tell changed files from unchanged ones: size and time do not, after a quick change or a copy that keeps them.
type sums map[string][sha256.Size]byte

// file reads a file and notes its sum, which is zero for one that cannot be read.
func (s sums) file(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	s[name] = sumOf(data, err)
	return data, err
}

func (s sums) changed() bool {
	for name, then := range s {
		if sumOf(os.ReadFile(name)) != then {
			return true
		}
	}
	return false
}

func sumOf(data []byte, err error) (sum [sha256.Size]byte) {
	if err == nil {
		sum = sha256.Sum256(data)
	}
	return sum
}

const (
	// maxCost bounds the work for one login: each step doubles it, and 14 takes about a second.
	maxCost = 14
	// minToken is the least length of a token, so that nobody guesses it.
	minToken = 16
)

// webConfig is the part of Prometheus' web configuration that the listener knows.
type webConfig struct {
	TLS struct {
		CertFile string `yaml:"cert_file"`
		KeyFile  string `yaml:"key_file"`
	} `yaml:"tls_server_config"`
	Users map[string]string `yaml:"basic_auth_users"`
}

// readFiles reads all files that the settings name. generated is the hash of the generated user, unless it is
// nil or a file has a user of that name. The sums are those of all files that were read, also with an error.
func readFiles(cfg config.HTTPConfig, generated []byte) (r *rules, read sums, err error) {
	r, read = &rules{users: map[string][]byte{}}, sums{}
	if cfg.ConfigFile != "" {
		if err = r.readConfig(cfg.ConfigFile, read); err != nil {
			err = fmt.Errorf("http.config_file: %w", err)
		}
	}
	if cfg.TokenFile != "" {
		if bad := r.readToken(cfg.TokenFile, read); bad != nil {
			err = errors.Join(err, fmt.Errorf("http.token_file: %w", bad))
		}
	}
	if _, named := r.users[generatedUser]; generated != nil && !named {
		r.users[generatedUser] = generated
		r.cost = max(r.cost, bcrypt.DefaultCost)
	}
	return r, read, err
}

func (r *rules) readToken(name string, read sums) error {
	text, err := read.file(name)
	if err != nil {
		return err
	}
	if text = bytes.TrimSpace(text); len(text) < minToken {
		return fmt.Errorf("%s holds %d characters, at least %d are needed: openssl rand -hex 32 prints some", name,
			len(text), minToken)
	}
	r.token = sha256.Sum256(text)
	return nil
}

// readConfig reads a web configuration.
func (r *rules) readConfig(name string, read sums) error {
	data, err := read.file(name)
	if err != nil {
		return err
	}
	var c webConfig
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w; known are tls_server_config with cert_file and key_file, and basic_auth_users", name, err)
	}
	for user, hash := range c.Users {
		cost, err := bcrypt.Cost([]byte(hash))
		switch {
		case err != nil:
			return fmt.Errorf("%s: the password of %q is no bcrypt hash: htpasswd -nBC 10 \"\" prints one", name, user)
		case cost > maxCost:
			return fmt.Errorf("%s: the bcrypt hash of %q has the cost %d, at most %d is taken: each login would cost "+
				"seconds of CPU", name, user, cost, maxCost)
		}
		r.users[user], r.cost = []byte(hash), max(r.cost, cost)
	}
	if err := r.readTLS(&c, filepath.Dir(name), read); err != nil {
		return fmt.Errorf("%s: tls_server_config: %w", name, err)
	}
	return nil
}

// readTLS reads the certificate. Its names are relative to the folder of the web configuration.
func (r *rules) readTLS(c *webConfig, folder string, read sums) error {
	if c.TLS.CertFile == "" && c.TLS.KeyFile == "" {
		return nil
	}
	file := func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		return read.file(name)
	}
	cert, noCert := file(c.TLS.CertFile)
	key, noKey := file(c.TLS.KeyFile)
	pair, err := tls.X509KeyPair(cert, key)
	if err = cmp.Or(errors.Join(noCert, noKey), err); err != nil {
		return fmt.Errorf("cert_file and key_file: %w", err)
	}
	r.cert = &pair
	return nil
}

// certificatePatience is how long a handshake waits for the files before it takes the certificate that was read last:
// who probes /healthz waits no longer than a second.
const certificatePatience = 500 * time.Millisecond

// TLS returns the configuration of the listener; nil: it speaks without TLS. A certificate is read again when it has
// changed; one with a mistake is not taken over.
func (a *Access) TLS() *tls.Config {
	if a == nil || a.last.Load().inForce.cert == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			ctx, cancel := context.WithTimeout(hello.Context(), certificatePatience)
			defer cancel()
			r, _ := a.rules(ctx)
			return r.cert, nil
		},
	}
}
