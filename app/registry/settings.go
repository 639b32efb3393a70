// Package registry finds the schemas of Avro values: in a schema registry, by the REST interface of
// Confluent's, or in a file.
package registry

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/internal/remote"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/decode/avrojson"
)

// Config says where schemas are.
type Config struct {
	SchemaFile string `setting:"schema_file"`
	Registry   Server `setting:"registry"`
}

// Server says how a schema registry is reached.
type Server struct {
	URLs     []string     `setting:"urls" help:"Addresses of the schema registry, such as http://registry:8081."`
	Username string       `setting:"username" help:"User name."`
	Password string       `setting:"password" secret:"true" help:"password; prefer password_file or the environment."`
	TLS      remote.Files `setting:"tls" help:"Certificates for addresses that begin with https://."`
}

// Encrypted says whether all addresses begin with https://.
func (s Server) Encrypted() bool {
	return !slices.ContainsFunc(s.URLs, func(u string) bool { return !strings.HasPrefix(u, "https://") })
}

// Validate returns the mistakes, each with its key first. used says that values are Avro, framed that they
// have the framing of a registry.
func (c Config) Validate(used, framed bool) error {
	var errs []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	asked := len(c.Registry.URLs) > 0
	add(used && !asked && c.SchemaFile == "", "format: avro needs the schemas: set registry.urls or schema_file")
	add(!used && asked, "registry.urls is of no use: set format to avro, or leave it out (JSON in a registry's "+
		"framing needs none)")
	add(!used && c.SchemaFile != "", "schema_file is of no use: set format to avro, or leave it out")
	add(asked && c.SchemaFile != "", "schema_file and registry.urls exclude each other")
	add(used && asked && !framed,
		"registry.urls needs framing: confluent, which holds the number of each value's schema")
	for _, address := range c.Registry.URLs {
		u, err := url.Parse(address)
		add(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https",
			"registry.urls: an address must be like http://registry:8081 or https://registry")
		add(err == nil && u.User != nil,
			"registry.urls: an address holds a password; use registry.username and registry.password_file")
		add(err == nil && u.Scheme == "http" && c.Registry.TLS != remote.Files{},
			"registry.tls needs addresses with https://, not http://")
	}
	if err := c.Registry.TLS.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("registry.%w", err))
	}
	return errors.Join(errs...)
}

// Open returns the schemas: those of the file, or a *Client. It reads files and connects to no server.
// Without settings it returns nil.
func (c Config) Open() (decode.Schemas, error) {
	switch {
	case c.SchemaFile != "":
		text, err := os.ReadFile(c.SchemaFile)
		if err != nil {
			return nil, fmt.Errorf("input.schema_file: %w", err)
		}
		schema, err := avrojson.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("input.schema_file: %s holds no Avro schema: %w", c.SchemaFile, err)
		}
		return one{schema}, nil
	case len(c.Registry.URLs) == 0:
		return nil, nil
	}
	files, err := c.Registry.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("input.registry.%w", err)
	}
	options := []sr.ClientOpt{sr.URLs(c.Registry.URLs...), sr.UserAgent("echosieve"), sr.HTTPClient(newHTTP(files))}
	if c.Registry.Username != "" || c.Registry.Password != "" {
		options = append(options, sr.BasicAuth(c.Registry.Username, c.Registry.Password))
	}
	server, err := sr.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("input.registry: %w", err)
	}
	return newClient(server), nil
}
