// Package access is the login and the TLS of the HTTP listener. The file of http.config_file has the form of
// Prometheus' web configuration: whoever runs Prometheus writes it already. The token of http.token_file is
// for programs. The password of http.generated_login is in the log.
//
// All files are read again when they have changed. A file with mistakes changes nothing: what was in force of
// it stays, and the log says so.
package access

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/app/config"

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
	checking queue    // one password at a time is compared: it takes a core
	known    sync.Map // sums of logins that were right, each with its account
	// generated is the bcrypt hash of the password in the log; nil: none.
	generated []byte
}

// generatedUser is the user of http.generated_login.
const generatedUser = "echosieve"

// rules are what the files say.
type rules struct {
	encryption
	users map[string][]byte // bcrypt hashes
	token [sha256.Size]byte // sum of the token; zero: none
}

// encryption is the TLS of the listener.
type encryption struct {
	tls    *tls.Config // nil: none
	certed bool        // it demands a certificate of the client
}

// asks says whether requests need a user or the token.
func (r *rules) asks() bool { return len(r.users) > 0 || r.hasToken() }

func (r *rules) hasToken() bool { return r.token != [sha256.Size]byte{} }

// judge says why rules cannot be in force. before are those that were in force until now, nil at the start.
func (r *rules) judge(cfg config.HTTPConfig, before *rules) error {
	if page := cfg.ShowsArticles(); page != "" && !r.asks() && !r.certed && !isLoopback(cfg.Listen) {
		return fmt.Errorf("%s shows articles to everybody who reaches %s, which is no loopback address: "+
			"set http.config_file to a file with basic_auth_users, or http.token_file, or http.generated_login, "+
			"or http.listen to 127.0.0.1 and a port", page, cfg.Listen)
	}
	switch {
	case before == nil:
	case (r.tls == nil) != (before.tls == nil):
		return errors.New("TLS cannot be switched on or off while the service runs: restart it")
	case before.asks() && !r.asks():
		return errors.New("the login cannot be switched off while the service runs: restart it")
	case before.certed && !r.certed && !r.asks():
		return errors.New("client certificates cannot be given up without a login while the service runs: restart it")
	}
	return nil
}

// Load reads the files, and makes the login of http.generated_login. It returns nil if the settings name
// neither. Pages that show articles need a login as soon as http.listen is no loopback address: without one,
// Load returns an error.
func Load(cfg config.HTTPConfig, log *slog.Logger) (*Access, error) {
	f := read(cfg)
	if err := f.err(); err != nil {
		return nil, err
	}
	r, a := &f.rules, &Access{cfg: cfg, log: log, read: f.stamps}
	if cfg.Generated {
		if err := a.generate(); err != nil {
			return nil, fmt.Errorf("http.generated_login: %w", err)
		}
		r.admit(a.generated)
	}
	if err := r.judge(cfg, nil); err != nil {
		return nil, err
	}
	if len(f.stamps) == 0 && a.generated == nil {
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
	r := read(cfg)
	return r.err() == nil && (r.asks() || cfg.Generated) && r.tls == nil && !isLoopback(cfg.Listen)
}

// rules returns what the files say now. A mistake in one file, or a part that may not change, keeps that part
// as it was; the others change.
func (a *Access) rules() *rules {
	a.reading.Lock()
	defer a.reading.Unlock()
	old := a.current.Load()
	if !a.read.changed() {
		return old
	}
	f := read(a.cfg)
	f.admit(a.generated)
	a.read = f.stamps
	next, err := f.after(a.cfg, old)
	if err != nil {
		a.log.Error("login and certificates of the HTTP listener not reloaded: what is wrong stays as it was, and "+
			"only the rest changes", "err", err)
	}
	if next == old {
		return old
	}
	a.known.Range(func(sum, of any) bool { // who is no user any more is forgotten
		if who := of.(account); !bytes.Equal(next.users[who.user], []byte(who.hash)) {
			a.known.Delete(sum)
		}
		return true
	})
	a.current.Store(next)
	if err == nil {
		a.log.Info("login and certificates of the HTTP listener reloaded")
	}
	return next
}

// after returns the rules that follow old: all parts of the files, or, if they may not be in force together,
// each part that may. The error says which may not. Without a change it returns old.
func (f *files) after(cfg config.HTTPConfig, old *rules) (*rules, error) {
	err := f.err()
	if err == nil {
		if err = f.judge(cfg, old); err == nil {
			next := f.rules
			return &next, nil
		}
	}
	next, refused, whole := old, f.err(), err
	for _, part := range []struct {
		bad error
		set func(*rules)
	}{
		{f.badUsers, func(r *rules) { r.users = f.users }},
		{f.badTLS, func(r *rules) { r.encryption = f.encryption }},
		{f.badToken, func(r *rules) { r.token = f.token }},
	} {
		changed := *next
		if part.set(&changed); part.bad != nil || same(next, &changed) {
			continue
		}
		if bad := changed.judge(cfg, old); bad != nil {
			refused = errors.Join(refused, bad)
		} else {
			next = &changed
		}
	}
	if refused == nil {
		refused = whole
	}
	return next, refused
}

// same says whether rules let the same logins in, by the same TLS.
func same(a, b *rules) bool {
	return a.tls == b.tls && a.token == b.token && maps.EqualFunc(a.users, b.users, bytes.Equal)
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

// TLS returns the configuration of the listener; nil: it speaks without TLS. Certificates are read again when
// they have changed.
func (a *Access) TLS() *tls.Config {
	if a == nil || a.current.Load().tls == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return a.rules().tls, nil },
	}
}
