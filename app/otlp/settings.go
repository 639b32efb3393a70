package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"echosieve/internal/remote"
)

// settings are those variables of OpenTelemetry that its SDK does not read itself. Compression and a time
// limit of its own are not among them: OTEL_BSP_EXPORT_TIMEOUT limits an export with its retries.
type settings struct {
	endpoint *url.URL
	headers  map[string]string
	tls      remote.Files
	queue    int // spans that may wait
}

const (
	defaultEndpoint = "http://localhost:4318"
	tracesPath      = "/v1/traces"
	defaultQueue    = 2048
)

// enabled says whether the environment asks for traces. OpenTelemetry's own default is to send them to
// localhost; here nothing is sent unless a variable asks for it.
func enabled() (bool, error) {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "":
		return exporterEnv("ENDPOINT") != "", nil
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, must be otlp or none", exporter)
	}
}

// exporterEnv returns the variable for traces, or the one for all signals.
func exporterEnv(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// readSettings reads the environment. The error joins all mistakes.
func readSettings() (settings, error) {
	s := settings{queue: defaultQueue, tls: remote.Files{CAFile: exporterEnv("CERTIFICATE"),
		CertFile: exporterEnv("CLIENT_CERTIFICATE"), KeyFile: exporterEnv("CLIENT_KEY")}}
	var noEndpoint, noHeaders, noProtocol, noQueue error
	if p := exporterEnv("PROTOCOL"); p != "" && p != "http/protobuf" {
		noProtocol = fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, must be http/protobuf", p)
	}
	s.endpoint, noEndpoint = endpoint()
	s.headers, noHeaders = headers(exporterEnv("HEADERS"))
	if text := os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE"); text != "" {
		var err error
		if s.queue, err = strconv.Atoi(text); err != nil || s.queue <= 0 {
			noQueue = fmt.Errorf("OTEL_BSP_MAX_QUEUE_SIZE is %q, must be a whole number above 0", text)
		}
	}
	return s, errors.Join(noProtocol, noEndpoint, noHeaders, noQueue)
}

// endpoint returns the URL that spans are sent to. The variable for traces holds the whole URL, the one for
// all signals the part before /v1/traces.
func endpoint() (*url.URL, error) {
	name, text, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if text == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", tracesPath
		text = cmp.Or(os.Getenv(name), defaultEndpoint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// not the value: it may hold a password
		return nil, fmt.Errorf("%s must be a URL such as %s", name, defaultEndpoint)
	}
	return u.JoinPath(path), nil
}

// headers reads "name=value,name=value" with percent-encoded values.
func headers(text string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs, separated by commas")
		}
		all[name] = value
	}
	return all, nil
}
