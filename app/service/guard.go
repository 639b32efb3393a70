package service

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"echosieve/app/config"
	"echosieve/app/console"
	"echosieve/docs"
)

// guard stands before every path of the HTTP listener. The browser of somebody who may reach the listener, or
// who has logged in, also shows pages of strangers. The guard refuses what such a page sends:
//
//   - A request for a name that is not ours. A stranger can let his own name resolve to our address: for the
//     browser our answers are then his (DNS rebinding). He cannot do that with an address, nor with the names
//     of loopback, nor with the names of http.hosts.
//   - Any request from a page of another site, except for a link that somebody follows. So a page can neither
//     make the service work (profiles, reads from Kafka) nor post to it. Browsers name the origin of a
//     request in Sec-Fetch-Site; other clients do not. Over plain HTTP to an address browsers leave it out:
//     then Origin and Referer tell, which a page can hide from requests that it cannot read.
//   - A body that is not application/json. Forms, which may be sent to other sites, have other content types.
//
// Answers may not be shown in frames or read by pages of other sites, and browsers must not guess their type.
func guard(cfg config.HTTPConfig, next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	names := newHostNames(cfg)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !names.has(r.Host):
			http.Error(w, fmt.Sprintf(
				"This listener does not answer to the name %q. Use its address, or localhost, or add the name to "+
					"http.hosts.", r.Host),
				http.StatusMisdirectedRequest)
		case origins.Check(r) != nil || fromOtherSite(r):
			http.Error(w, "The request comes from a page of another site.", http.StatusForbidden)
		case r.Method == http.MethodPost && !isJSON(r):
			http.Error(w, "The content type must be application/json.", http.StatusUnsupportedMediaType)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// fromOtherSite says whether a browser sends the request for a page of another site, and not because somebody
// follows a link.
func fromOtherSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site": // a neighbour below the same domain, or on another port of it, is another site, too
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	case "":
		if isOther(r.Header.Get("Origin"), r.Host) {
			return true
		}
		// Only the pages that people open may be linked: a frame of a page of another site looks like a link.
		linked := slices.Contains([]string{"/", console.Path, console.Path + "stories/"}, r.URL.Path) ||
			strings.HasPrefix(r.URL.Path, docs.Path)
		return !linked && isOther(r.Header.Get("Referer"), r.Host)
	default:
		return false
	}
}

// isOther says whether an Origin or Referer names another host than the one that was asked. An empty one names none.
func isOther(from, host string) bool {
	if from == "" {
		return false
	}
	u, err := url.Parse(from)
	return err != nil || !strings.EqualFold(u.Host, host)
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// hostNames are the names that the listener answers to, in lower case: whole names, and suffixes that begin with a dot.
type hostNames []string

// newHostNames returns the names of the settings: http.hosts and, if it is a name, the host of http.listen.
func newHostNames(cfg config.HTTPConfig) hostNames {
	names := hostNames{"localhost", ".localhost"}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && host != "" {
		names = append(names, strings.ToLower(host))
	}
	for _, name := range cfg.Hosts {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// has says whether the listener answers to the Host of a request, with or without a port. It answers to every
// IP address, and to requests without a Host (HTTP/1.0), which no browser sends.
func (n hostNames) has(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil || name == "" {
		return true
	}
	for _, ours := range n {
		if name == ours || strings.HasPrefix(ours, ".") && strings.HasSuffix(name, ours) {
			return true
		}
	}
	return false
}
