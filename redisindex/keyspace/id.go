package keyspace

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ID is what tells one index from another.
type ID struct {
	Name
	// Settings are those from which the layout was computed, by name. They put a difference into words, and
	// decide nothing.
	Settings map[string]string
}

// Name says where the keys of an index are.
type Name struct {
	Database  int    // redis.db
	Namespace string // redis.namespace
	Recipe    string // id of the recipe; empty in tests without one
	Layout    string // length of the slices, sizes and forms of the keys
}

// Prefix begins the name of every key of the index.
func (p Name) Prefix() string {
	if p.Recipe == "" {
		return p.Namespace + ":" + p.Layout + ":"
	}
	return p.Namespace + ":" + p.Recipe + ":" + p.Layout + ":"
}

// prefixes matches prefixes: a namespace, the id of a recipe or none, and a layout.
var prefixes = regexp.MustCompile(
	`(?s)^(.*?)(?::([a-z0-9-]+-\d+-[0-9a-f]{8}))?:([0-9a-z]+\.\d+\.\d+x\d+\.(?:\d+|sets)\.\d+):?$`)

// ParsePrefix is the inverse of Prefix. It is not ok if the text is the prefix of no index.
func ParsePrefix(text string) (p Name, ok bool) {
	parts := prefixes.FindStringSubmatch(text)
	if parts == nil {
		return Name{}, false
	}
	return Name{Namespace: parts[1], Recipe: parts[2], Layout: parts[3]}, true
}

// String names the index as metrics and commands show it: Prefix without its last colon, then "@" and the
// database unless it is 0.
func (p Name) String() string {
	name := strings.TrimSuffix(p.Prefix(), ":")
	if p.Database != 0 {
		name += "@" + strconv.Itoa(p.Database)
	}
	return name
}

// Same says whether both are one index.
func (i ID) Same(other ID) bool { return i.Name == other.Name }

// Compare says in words how this index differs from the other one: each setting with its value here and there, such as
// "window 72h here, 168h there". It is empty if both are one index.
func (i ID) Compare(other ID) string {
	if i.Same(other) {
		return ""
	}
	var differences []string
	add := func(name, here, there string) {
		if here != there {
			differences = append(differences, fmt.Sprintf("%s %s here, %s there", name, here, there))
		}
	}
	add("redis.db", strconv.Itoa(i.Database), strconv.Itoa(other.Database))
	add("redis.namespace", i.Namespace, other.Namespace)
	add("recipe id (settings under detection, or the release)", i.Recipe, other.Recipe)
	if i.Layout != other.Layout {
		before := len(differences)
		for _, name := range slices.Sorted(maps.Keys(i.Settings)) {
			if there, known := other.Settings[name]; known {
				add(name, i.Settings[name], there)
			}
		}
		if len(differences) == before {
			add("layout of keys", i.Layout, other.Layout)
		}
	}
	return strings.Join(differences, "; ")
}

// IDOf returns the id of the index that a configuration makes in a database of Redis. The names of its keys
// are made from it.
func IDOf(c Config, database int) ID {
	l := newLayout(c)
	namespace := c.BaseNamespace()
	return ID{
		Name: Name{Database: database, Namespace: namespace, Recipe: strings.TrimPrefix(c.Namespace[len(namespace):],
			":"), Layout: l.tag},
		Settings: map[string]string{
			// as settings have it: 168h, where String says 168h0m0s
			"window":                  strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(c.Window.String()),
			"redis.generations":       strconv.Itoa(c.Slices),
			"redis.buckets":           c.Buckets,
			"redis.expected_articles": strconv.Itoa(c.ExpectedArticles), "redis.block_bits": strconv.Itoa(c.BlockBits),
			"detection.blocks": strconv.Itoa(c.Blocks),
		},
	}
}
