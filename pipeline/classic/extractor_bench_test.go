//go:build cgo

package classic

import (
	"strings"
	"testing"
)

// The work of each recipe, and the segmentation of cppjieba alone for comparison, on a text of some 2,700 bytes.
func BenchmarkFingerprint(b *testing.B) {
	vectors := pythonVectors(b)
	zh := strings.Repeat(vectors[0].Text, 5)
	en := strings.Repeat(vectors[1].Text, 9)
	for language, text := range map[string]string{"zh": zh, "en": en} {
		for _, name := range Names() {
			e := testExtractor(b, name)
			b.Run(name+"/"+language, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					e.Fingerprint(text)
				}
			})
		}
		jieba := testJieba(b)
		b.Run("cut/"+language, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				jieba.Cut(text, true)
			}
		})
	}
}
