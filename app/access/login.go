package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"echosieve/app/config"
)

// mostPassword is what bcrypt looks at of a password, in bytes.
const mostPassword = 72

// Realm names Echosieve to clients that need a login.
const Realm = `realm="Echosieve"`

// filesPatience is how long a request waits for the files of the login.
const filesPatience = 10 * time.Second

// Protect returns a handler that asks for the login before next, except at the paths of http.open.
func (a *Access) Protect(next http.Handler) http.Handler {
	if a == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(a.cfg.Open, r.URL.Path) { // also while the files cannot be read
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), filesPatience)
		defer cancel()
		rules, bad := a.rules(ctx)
		switch {
		case bad != nil:
			http.Error(w, "The files of the login have a mistake: see the log of Echosieve.", http.StatusServiceUnavailable)
			return
		case !rules.asks():
			next.ServeHTTP(w, r)
			return
		}
		switch status := a.login(rules, r); status {
		case http.StatusOK:
			next.ServeHTTP(w, r)
		case http.StatusUnauthorized:
			if len(rules.users) > 0 { // browsers ask for the password of the first scheme that they know
				w.Header().Add("WWW-Authenticate", "Basic "+Realm+`, charset="UTF-8"`)
			}
			if rules.hasToken() {
				w.Header().Add("WWW-Authenticate", "Bearer "+Realm)
			}
			http.Error(w, "This page needs a login: a user of http.config_file, the token of http.token_file, or the user "+
				generatedUser+" with the password of http.generated_login in the log.", status)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Another login is under way: try again.", status)
		}
	})
}

// login returns StatusOK, StatusUnauthorized, or StatusTooManyRequests.
func (a *Access) login(rules *rules, r *http.Request) int {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && rules.hasToken() {
		sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if subtle.ConstantTimeCompare(sum[:], rules.token[:]) == 1 {
			return http.StatusOK
		}
		return http.StatusUnauthorized
	}
	user, password, given := r.BasicAuth()
	if !given || len(rules.users) == 0 {
		return http.StatusUnauthorized
	}
	password = password[:min(len(password), mostPassword)]
	parts := []string{string(a.salt[:]), user, string(rules.users[user]), password}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	if _, known := a.known.Load(sum); known {
		return http.StatusOK
	}
	if !a.comparing.TryLock() {
		return http.StatusTooManyRequests
	}
	defer a.comparing.Unlock()
	if !rules.isRight(user, []byte(password)) {
		return http.StatusUnauthorized
	}
	a.known.Store(sum, struct{}{})
	return http.StatusOK
}

// isRight compares a password. It takes as long as the dearest hash of all users, whoever logs in: otherwise the
// time would tell which users exist.
func (r *rules) isRight(user string, password []byte) bool {
	hash, exists := r.users[user]
	if !exists {
		hash = decoy(r.cost)
	}
	right := bcrypt.CompareHashAndPassword(hash, password) == nil && exists
	cost, _ := bcrypt.Cost(hash)
	for ; cost < r.cost; cost++ { // each step costs as much as all before it
		_ = bcrypt.CompareHashAndPassword(decoy(cost), password)
	}
	return right
}

// decoy is a hash of no password.
func decoy(cost int) []byte { return fmt.Appendf(nil, "$2a$%02d$%s", cost, strings.Repeat(".", 53)) }

// Ask requests a path of the service that listens on this machine with the same settings. If the listener has
// TLS, it must show the certificate of the settings. The token is sent to an Echosieve that asks for it only:
// another program may hold the port. The caller closes the body.
func Ask(ctx context.Context, cfg config.HTTPConfig, path string) (*http.Response, error) {
	r, _, err := readFiles(cfg, nil)
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
	// which ignores HTTP_PROXY, unlike http.DefaultTransport
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if r.cert != nil {
		scheme, transport.TLSClientConfig = "https", onlyOurs(r.cert.Certificate[0])
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(request)
	if err != nil || !r.hasToken() || !WantsLogin(answer) {
		return answer, err
	}
	_ = answer.Body.Close()
	token, err := os.ReadFile(cfg.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("http.token_file: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	return client.Do(request)
}

// WantsLogin says whether an Echosieve asks for a login.
func WantsLogin(answer *http.Response) bool {
	return answer.StatusCode == http.StatusUnauthorized &&
		strings.Contains(strings.Join(answer.Header.Values("WWW-Authenticate"), ", "), Realm)
}

// onlyOurs accepts the certificate alone that the listener has. Its names are those by which others call.
func onlyOurs(certificate []byte) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, certificate) {
				return errors.New("the listener shows another certificate than that of http.config_file")
			}
			return nil
		}}
}
