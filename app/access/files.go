package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
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
		CertFile   string `yaml:"cert_file"`
		KeyFile    string `yaml:"key_file"`
		ClientAuth string `yaml:"client_auth_type"`
		ClientCAs  string `yaml:"client_ca_file"`
		MinVersion string `yaml:"min_version"`
	} `yaml:"tls_server_config"`
	Users map[string]string `yaml:"basic_auth_users"`
}

// files are the rules that the files hold now, and what is wrong with each part.
type files struct {
	rules
	stamps                     stamps
	badUsers, badTLS, badToken error
}

func (f *files) err() error {
	web := f.badUsers
	if web == nil {
		web = f.badTLS
	}
	return errors.Join(web, f.badToken)
}

// read reads all files that the settings name.
func read(cfg config.HTTPConfig) *files {
	f := &files{stamps: stamps{}}
	if cfg.ConfigFile != "" {
		f.stamps.add(cfg.ConfigFile)
		f.readConfig(cfg.ConfigFile)
	}
	if cfg.TokenFile != "" {
		f.stamps.add(cfg.TokenFile)
		f.readToken(cfg.TokenFile)
	}
	return f
}

func (f *files) readToken(name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		f.badToken = fmt.Errorf("http.token_file: %w", err)
		return
	}
	if text = bytes.TrimSpace(text); len(text) < minToken {
		f.badToken = fmt.Errorf(
			"http.token_file: %s holds %d characters, at least %d are needed: openssl rand -hex 32 prints some", name,
			len(text), minToken)
		return
	}
	f.token = sha256.Sum256(text)
}

// readConfig reads a web configuration.
func (f *files) readConfig(name string) {
	data, err := os.ReadFile(name)
	var c webConfig
	if err == nil {
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		if err = decoder.Decode(&c); errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("%s: %w; known are tls_server_config with cert_file, key_file, client_auth_type, "+
				"client_ca_file and min_version, and basic_auth_users", name, err)
		}
	}
	if err != nil {
		f.badUsers = fmt.Errorf("http.config_file: %w", err)
		f.badTLS = f.badUsers
		return
	}
	if err := f.readUsers(&c); err != nil {
		f.badUsers = fmt.Errorf("http.config_file: %s: %w", name, err)
	}
	if err := f.readTLS(&c, filepath.Dir(name)); err != nil {
		f.badTLS = fmt.Errorf("http.config_file: %s: tls_server_config: %w", name, err)
	}
}

func (f *files) readUsers(c *webConfig) error {
	f.users = make(map[string][]byte, len(c.Users))
	for user, hash := range c.Users {
		cost, err := bcrypt.Cost([]byte(hash))
		switch {
		case err != nil:
			return fmt.Errorf("the password of %q is no bcrypt hash: htpasswd -nBC 10 \"\" prints one", user)
		case cost > maxCost:
			return fmt.Errorf("the bcrypt hash of %q has the cost %d, at most %d is taken: each login would cost "+
				"seconds of CPU", user, cost, maxCost)
		}
		f.users[user] = []byte(hash)
	}
	return nil
}

// clientAuth are the values of client_auth_type.
var clientAuth = map[string]tls.ClientAuthType{
	"": tls.NoClientCert, tls.NoClientCert.String(): tls.NoClientCert,
	tls.VerifyClientCertIfGiven.String():    tls.VerifyClientCertIfGiven,
	tls.RequireAndVerifyClientCert.String(): tls.RequireAndVerifyClientCert,
}

// readTLS reads the certificates. Their names are relative to the folder of the web configuration.
func (f *files) readTLS(c *webConfig, folder string) error {
	t := &c.TLS
	if t.CertFile == "" && t.KeyFile == "" {
		if t.ClientAuth != "" || t.ClientCAs != "" || t.MinVersion != "" {
			return errors.New("cert_file and key_file are missing")
		}
		return nil
	}
	path := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(folder, name)
	}
	cert, key := path(t.CertFile), path(t.KeyFile)
	f.stamps.add(cert)
	f.stamps.add(key)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("cert_file and key_file: %w", err)
	}
	auth, known := clientAuth[t.ClientAuth]
	version, versioned := map[string]uint16{"": tls.VersionTLS12, "TLS12": tls.VersionTLS12,
		"TLS13": tls.VersionTLS13}[t.MinVersion]
	switch {
	case !known:
		return fmt.Errorf("client_auth_type is %q, must be NoClientCert, VerifyClientCertIfGiven or "+
			"RequireAndVerifyClientCert", t.ClientAuth)
	case !versioned:
		return fmt.Errorf("min_version is %q, must be TLS12 or TLS13", t.MinVersion)
	case (auth == tls.NoClientCert) != (t.ClientCAs == ""):
		return errors.New("client_ca_file and a client_auth_type that verifies belong together")
	}
	f.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: version, ClientAuth: auth,
		NextProtos: []string{"h2", "http/1.1"}}
	if auth != tls.NoClientCert {
		authorities := path(t.ClientCAs)
		f.stamps.add(authorities)
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return fmt.Errorf("client_ca_file: %w", err)
		}
		f.tls.ClientCAs = x509.NewCertPool()
		if !f.tls.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("client_ca_file: %s holds no PEM certificate", authorities)
		}
	}
	f.certed = auth == tls.RequireAndVerifyClientCert
	return nil
}
