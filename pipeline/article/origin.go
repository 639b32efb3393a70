package article

import (
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// Origin says where a text comes from, as far as fingerprint, signature and verdict depend on it.
type Origin struct {
	// Publisher is what the record names; empty if it names none. It decides which rows of the boilerplate
	// table count.
	Publisher string
	// URL is the address of the article. Without a Publisher, its host is the publisher.
	URL string
	// Title may mark the text as a correction.
	Title string
	// Time is the record's timestamp. Zero stands for a text without a record: all rows of the boilerplate
	// table count, even rows that begin later.
	Time time.Time
}

// Origin is where the text of a record with the timestamp comes from.
func (c *Content) Origin(at time.Time) Origin {
	return Origin{Publisher: c.Publisher, URL: c.URL, Title: c.Title, Time: at}
}

// maxNameBytes is the length of the longest name of a publisher that PublisherOf returns.
const maxNameBytes = 64

// PublisherOf returns who published an article: the publisher that its record names, without white space at its
// ends, else the host of its address without www. It is empty if neither is known. Verdicts and stories have this
// one definition. A name of more than 64 bytes is cut.
func PublisherOf(name, address string) string {
	if name = strings.TrimSpace(strings.ToValidUTF8(name, "")); name == "" {
		name = host(address)
	}
	return Cut(name, maxNameBytes)
}

// host returns the host of an address without www, in Unicode: Punycode names the same publisher. The address may have
// no scheme.
func host(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if (!found || strings.ContainsAny(scheme, "./?#")) && !strings.HasPrefix(address, "/") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := strings.TrimSuffix(strings.ToValidUTF8(strings.ToLower(u.Hostname()), ""), ".")
	if display, err := idna.Display.ToUnicode(name); err == nil { // an address of IPv6 is no name
		name = display
	}
	return strings.TrimPrefix(name, "www.")
}
