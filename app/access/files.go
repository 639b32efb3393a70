package access

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"echosieve/app/config"
)

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
