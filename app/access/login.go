package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// mostPassword is what bcrypt looks at of a password, in bytes.
const mostPassword = 72

// account is a user with his bcrypt hash.
type account struct{ user, hash string }

// Realm names Echosieve to clients that need a login.
const Realm = `realm="Echosieve"`

// Protect returns a handler that asks for the login before next, except at the paths of http.open.
func (a *Access) Protect(next http.Handler) http.Handler {
	if a == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rules := a.rules()
		if !rules.asks() || slices.Contains(a.cfg.Open, r.URL.Path) {
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
			http.Error(w, "This page needs a login: "+rules.logins(a.generated)+".", status)
		default:
			http.Error(w, "Too many logins are under way.", status)
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
	hash, exists := rules.users[user]
	if !exists { // the answer takes as long as for a user that exists
		for _, hash = range rules.users {
			break
		}
	}
	password = password[:min(len(password), mostPassword)]
	sum := sha256.Sum256([]byte(strings.Join([]string{string(a.salt[:]), user, string(hash), password}, "\x00")))
	if _, known := a.known.Load(sum); known {
		return http.StatusOK
	}
	from := guesser{address: address(r.RemoteAddr)}
	if exists {
		from.user = user
	}
	if !a.checking.enter(r.Context(), from) {
		return http.StatusTooManyRequests
	}
	right := bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && exists
	a.checking.leave(from, right)
	if !right {
		return http.StatusUnauthorized
	}
	a.known.Store(sum, account{user, string(hash)})
	return http.StatusOK
}

// logins names the ways to log in.
func (r *rules) logins(generated []byte) string {
	var ways []string
	users := len(r.users)
	if generated != nil && bytes.Equal(r.users[generatedUser], generated) {
		users--
		ways = append(ways, "the user "+generatedUser+" with the password of http.generated_login in the log")
	}
	if users > 0 {
		ways = append(ways, "a user of http.config_file")
	}
	if r.hasToken() {
		ways = append(ways, "the token of http.token_file")
	}
	return strings.Join(ways, ", or ")
}
