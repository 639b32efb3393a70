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

	"echosieve/internal/app/config"
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

// read reads all files that the settings name. With an error, too, it returns their stamps.
func read(cfg config.HTTPConfig) (*rules, error) {
	r := &rules{stamps: stamps{}}
	if cfg.ConfigFile != "" {
		r.stamps.add(cfg.ConfigFile)
		if err := r.readConfig(cfg.ConfigFile); err != nil {
			return r, fmt.Errorf("http.config_file: %w", err)
		}
	}
	if cfg.TokenFile != "" {
		r.stamps.add(cfg.TokenFile)
		text, err := os.ReadFile(cfg.TokenFile)
		if err != nil {
			return r, fmt.Errorf("http.token_file: %w", err)
		}
		if text = bytes.TrimSpace(text); len(text) < minToken {
			return r, fmt.Errorf("http.token_file: %s holds %d characters, at least %d are needed: openssl rand -hex 32 prints some", cfg.TokenFile, len(text), minToken)
		}
		r.token = sha256.Sum256(text)
	}
	return r, nil
}

// readConfig reads a web configuration.
func (r *rules) readConfig(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var c webConfig
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w; known are tls_server_config with cert_file, key_file, client_auth_type, client_ca_file and min_version, and basic_auth_users", name, err)
	}
	r.users = make(map[string][]byte, len(c.Users))
	for user, hash := range c.Users {
		cost, err := bcrypt.Cost([]byte(hash))
		switch {
		case err != nil:
			return fmt.Errorf("%s: the password of %q is no bcrypt hash: htpasswd -nBC 10 \"\" prints one", name, user)
		case cost > maxCost:
			return fmt.Errorf("%s: the bcrypt hash of %q has the cost %d, at most %d is taken: each login would cost seconds of CPU", name, user, cost, maxCost)
		}
		r.users[user] = []byte(hash)
	}
	if err := r.readTLS(&c, filepath.Dir(name)); err != nil {
		return fmt.Errorf("%s: tls_server_config: %w", name, err)
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
func (r *rules) readTLS(c *webConfig, folder string) error {
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
	r.stamps.add(cert)
	r.stamps.add(key)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("cert_file and key_file: %w", err)
	}
	auth, known := clientAuth[t.ClientAuth]
	version, versioned := map[string]uint16{"": tls.VersionTLS12, "TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13}[t.MinVersion]
	switch {
	case !known:
		return fmt.Errorf("client_auth_type is %q, must be NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", t.ClientAuth)
	case !versioned:
		return fmt.Errorf("min_version is %q, must be TLS12 or TLS13", t.MinVersion)
	case (auth == tls.NoClientCert) != (t.ClientCAs == ""):
		return errors.New("client_ca_file and a client_auth_type that verifies belong together")
	}
	r.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: version, ClientAuth: auth, NextProtos: []string{"h2", "http/1.1"}}
	if auth != tls.NoClientCert {
		authorities := path(t.ClientCAs)
		r.stamps.add(authorities)
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return fmt.Errorf("client_ca_file: %w", err)
		}
		r.tls.ClientCAs = x509.NewCertPool()
		if !r.tls.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("client_ca_file: %s holds no PEM certificate", authorities)
		}
	}
	r.certed = auth == tls.RequireAndVerifyClientCert
	return nil
}
