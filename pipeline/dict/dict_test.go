package dict

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The contents are those of the modules named in README.md, changed as it says. A changed dictionary changes
// fingerprints.
func TestDictionariesAreTheirOrigins(t *testing.T) {
	if *update {
		makeDictionaries(t)
		return
	}
	for name, want := range map[string]string{
		Words:        "3043b77068e09c9904f27cad82f12b6ebe9dbdb5aeff3b25e45ab7f9c1122b55",
		HMM:          "f17790586ac86dd048c8adffed052c4bd2b28ed0682972c1275e59040c0589a7",
		IDF:          "4111ff0ab587b0d5e0a0f8cfe556e53d156ca12ce8193e5c587b29140fdc7b25",
		StopWords:    "b788b8a939d2e2fe079abd579ea98f12f9fb84370bfd0dddd81bb9381f7ab42c",
		TSCharacters: "1d879194dc93ef28f20bb65b4c35ae81f9def21cf8de1fb4d453340ef76ad0df",

		FunctionWords: "97698544829222957d6bb91b23446f0039f59856b9662488f21d0c41bca5a43d",
	} {
		data, err := Read(name)
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
}

func TestUnknownDictionary(t *testing.T) {
	_, err := Read("nothing")
	require.ErrorContains(t, err, "nothing")
}

func TestDamagedModel(t *testing.T) {
	data, err := Read(HMM)
	require.NoError(t, err)
	for from, to := range map[string]string{"耀:": "耀耀:", "-3.14e+100 -0.51": "x -0.51", "#prob_start": "0 0 0 0"} {
		require.Contains(t, string(data), from)
		_, err := parseModel(strings.Replace(string(data), from, to, 1))
		require.ErrorContains(t, err, "model: ")
	}
}
