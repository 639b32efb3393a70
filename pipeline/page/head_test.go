package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHead(t *testing.T) {
	const prose = "the quay opens again on monday, and the ferry will sail at eight as before."
	for head, want := range map[string]bool{
		"":                               false,
		"old quay opens\n":               true,
		"by a. b.\n3 min read\n":         false, // a byline that ends as a sentence does
		"4 nov 2026 14:05\n3 min read\n": true,
		"a\nb\nc\n4 nov 2026\n":          true,
		"a\nb\nc\nd\n4 nov 2026\n":       false, // a list
	} {
		length := 0
		if want {
			length = len(head)
		}
		require.Equal(t, length, Head(head+prose), head)
	}
	require.Zero(t, Head("old quay\nno prose"))
}

func TestNoteOfWhatIsCutOff(t *testing.T) {
	for clean, want := range map[string]string{
		"the quay opens... [+2314 chars]":        "the quay opens...",
		"the quay [+2314 chars]\n":               "the quay",
		"the quay op... (12 more lines)":         "the quay op...",
		"码头重新开放……(剩余1240字)":                      "码头重新开放……(剩余1240字)",
		"码头重新开放......(剩余1240字)":                  "码头重新开放......",
		"the quay opens (in 2026)":               "the quay opens (in 2026)",
		"the quay opens... (more)":               "the quay opens... (more)",
		"... (" + strings.Repeat("2 ", 30) + ")": "... (" + strings.Repeat("2 ", 30) + ")",
		"(":                                      "(", ")": ")", "": "",
	} {
		require.Equal(t, want, withoutRest(clean), clean)
	}
}

func TestIsCode(t *testing.T) {
	for line, want := range map[string]bool{
		"var a = window.a || {};":                   true,
		"ga('send', 'pageview');":                   true,
		".menu > li.item a:hover,":                  true,
		"/* the header of the new layout */":        true,
		`{"@type":"person","name":"a. b."}`:         true,
		"he said, the quay (see below) was closed;": false,
		"furthermore,":                              false,
		"the set {a, b} of two quays":               false,
		"码头{一}重新开放":                                 false,
		"":                                          false,
	} {
		require.Equal(t, want, isCode(line), line)
	}
}
