package decode

import (
	"strings"
	"testing"

	"echosieve/pipeline/record"
)

// BenchmarkDecode reads an article of usual size, as most crawlers write it.
func BenchmarkDecode(b *testing.B) {
	text := strings.Repeat("The harbour board voted to deepen the eastern channel, said the \\\"Post\\\".\\n", 40)
	d := New(DefaultConfig())
	r := &record.Record{Value: []byte(`{"id":"a1","url":"https://post.example/a1","title":"A channel","source":"Post",` +
		`"lang":"en","author":{"name":"A. B.","id":7},"tags":["port","ship"],"published_at":"2026-11-20T13:00:00Z",` +
		`"text":"` + text + `","fetched":1700000000}`)}
	b.SetBytes(int64(len(r.Value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, reject := d.Decode(r); reject != nil {
			b.Fatal(reject)
		}
	}
}
