package filter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
	"echosieve/sample"
	"echosieve/test/commandtest"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

func filtered(t testing.TB, code int, in string, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), in, append([]string{"filter"}, args...)...)
}

// verdicts are "id verdict topic original's id" of each line.
func verdicts(out string) (all []string) {
	for line := range strings.Lines(out) {
		v := gjson.Get(line, "echosieve")
		all = append(all, strings.TrimSpace(fmt.Sprintln(gjson.Get(line, "id"), v.Get("verdict"), v.Get("topic"),
			v.Get("original.id"))))
	}
	return all
}

const (
	harbour = "The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which " +
		"was closed in March after a barge struck one of its piers."
	barley = "Researchers at the college of agriculture said that a new variety of barley needs a third less " +
		"water than those that are grown today in the dry valley."
)

func line(id, text string, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"text":%q%s}`+"\n", id, text, strings.Join(more, ""))
}

func TestMessyFile(t *testing.T) {
	long := line("long", strings.Repeat("x", 2<<20))
	path := commandtest.File(t, "messy.jsonl", "\ufeff"+line("a", harbour, `,"n":1.50`)+"\n"+line("a", harbour)+
		`{"id":"cut","text":"x`+"\n"+
		`{"id":"none"}`+"\r\n"+long+line("b", barley, `,"echosieve":{"verdict":"near"}`)+
		line("c", "RIVERTON (Press) - "+harbour)+
		"{\"id\":\"gbk\",\"text\":\"\xb8\xdb\xb8\xdb\"}\n[1]\n"+line("blank", " "))
	out, errOut := filtered(t, command.ExitNo, "", path)
	require.Equal(t, []string{"a unique unique", "a exact duplicate a", "dead dead", "none dead dead", "dead dead",
		"b unique unique", "c near duplicate a", "gbk dead dead", "dead dead", "blank dead dead"}, verdicts(out))
	for _, l := range strings.Split(strings.TrimSpace(out), "\n") {
		require.True(t, json.Valid([]byte(l)), l)
	}
	require.True(t, strings.HasPrefix(out, `{"id":"a","text":"`+harbour+
		`","n":1.50,"echosieve":{"verdict":"unique","topic":"unique","record":"`+path+`/0/1"}}`), out)
	require.Contains(t, out,
		`{"value":"{\"id\":\"cut\",\"text\":\"x","echosieve":{"verdict":"dead","reason":"not_json",`)
	require.Equal(t, 1, strings.Count(out, `"id":"b"`))
	require.Contains(t, errOut, "10 articles in ")
	require.Contains(t, errOut, ": 2 unique, 2 duplicate, 6 dead; copies: 1 exact, 1 near; possible copies: 0, 0 of "+
		"them news of the same publisher\n")
	require.Contains(t, errOut, "6 dead lines")

	second, _ := filtered(t, commandtest.Any, out, "--only", "unique,possible,duplicate")
	require.Equal(t, []string{"a unique unique", "a exact duplicate a", "b unique unique", "c near duplicate a",
		"gbk unique unique"}, verdicts(second), "its output is input, too")
}

func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	in := commandtest.FileIn(t, dir, "in.jsonl", line("a", harbour)+line("b", harbour)+"{\n"+line("c", barley))
	at := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string { return commandtest.Read(t, at(name)) }
	out, _ := filtered(t, command.ExitNo, "", in, "--unique", at("u"), "--duplicate", at("d"), "--dead", at("x"))
	require.Empty(t, out)
	require.Equal(t, []string{"a unique unique", "c unique unique"}, verdicts(read("u")))
	require.Equal(t, []string{"b exact duplicate a"}, verdicts(read("d")))
	require.Equal(t, []string{"dead dead"}, verdicts(read("x")))

	out, _ = filtered(t, commandtest.Any, "", in, "--duplicate", at("d"), "--only", "unique,duplicate")
	require.Equal(t, []string{"a unique unique", "c unique unique"}, verdicts(out))
	out, _ = filtered(t, commandtest.Any, line("a", harbour)+`{"id":"b"}`, "--headers-only", "--only", "unique,dead")
	require.Equal(t, `{"id":"a","echosieve":{"verdict":"unique","topic":"unique","record":"stdin/0/1"}}`+"\n"+
		`{"id":"b","echosieve":{"verdict":"dead","reason":"no_text","detail":"none of the text fields [\"text\" `+
		`\"content\" \"body\"] is there","topic":"dead","record":"stdin/0/2"}}`+"\n", out)

	for want, args := range map[string][]string{
		"is also read":                  {in, "--unique", in},
		in + " is also read":            {in, "--stories", in},
		"--owners: ":                    {in, "--stories", "-", "--owners", in},
		"is named twice":                {in, "--unique", at("u"), "--dead", at("u")},
		`--only has "copies"`:           {in, "--only", "copies"},
		"no such file: " + at("n.json"): {at("n.json"), "--unique", at("u")},
		"is a directory":                {dir},
		"no such file or directory":     {in, "--dead", at("no/folder")},
	} {
		commandtest.WrongUsage(t, commandtest.Only(Command()), want, append([]string{"filter"}, args...)...)
	}
	require.Equal(t, []string{"a unique unique", "c unique unique"}, verdicts(read("u")), "a mistake destroys nothing")
}

// Files as others have written them: five different articles each, or a message with what to type.
func TestFilesOfOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, path := range files {
		if path == "testdata/backslash-escapes.csv" {
			_, errOut := filtered(t, command.ExitFailed, "", path)
			require.Contains(t, errOut, path+`:2: the row has \" for a quote in a field, in place of "": type python3`)
			continue
		}
		if path == "testdata/nan-of-python.jsonl" {
			_, errOut := filtered(t, command.ExitFailed, "", path)
			require.Contains(t, errOut, "NaN and Infinity are no JSON: write null, as jq -c . does")
			continue
		}
		code := command.ExitOK
		if path == "testdata/gzip-padded-with-zeros.jsonl.gz" {
			code = command.ExitFailed
		}
		out, errOut := filtered(t, code, "", "--headers-only", path)
		require.Equal(t, code == command.ExitFailed, strings.Contains(errOut, "type gzip -dc FILE"), errOut)
		require.Equal(t, []string{"n0 unique unique", "n1 unique unique", "n2 unique unique", "n3 unique unique",
			"n4 unique unique"}, verdicts(out), "%s: %s", path, errOut)
	}
}

// What is possible is in the topic unique, unless there is a topic for it, as in the service.
// Articles in one line have coordinates of their own: else they would be one, and no copies of each other.
func TestOneLine(t *testing.T) {
	a, b := strings.TrimSpace(line("a", harbour)), strings.TrimSpace(line("b", "RIVERTON (Press) - "+harbour))
	for _, file := range []string{"[" + a + "," + a + "," + b + "]", a + a + b} {
		out, _ := filtered(t, commandtest.Any, file)
		require.Equal(t, []string{"a unique unique", "a exact duplicate a", "b near duplicate a"}, verdicts(out), file)
		require.Contains(t, out, `"record":"stdin/0/3"}}`)
	}
}

func TestPossibleIsUnique(t *testing.T) {
	const of = "The central bank of %s raises its key rate by a quarter point to 3.75 per cent"
	in := line("a", fmt.Sprintf(of, "Norland")) + line("b", fmt.Sprintf(of, "Sudland"))
	out, _ := filtered(t, command.ExitOK, in)
	require.Equal(t, []string{"a unique unique", "b possible unique a"}, verdicts(out))
	out, _ = filtered(t, command.ExitOK, in, "--only", "unique")
	require.Len(t, verdicts(out), 2)
	commandtest.WrongUsage(t, commandtest.Only(Command()), "unique holds the possible ones", "filter", "--only",
		"possible")
	t.Setenv("ECHOSIEVE_KAFKA_TOPICS_POSSIBLE", "any")
	out, _ = filtered(t, command.ExitOK, in, "--only", "possible")
	require.Equal(t, []string{"b possible possible a"}, verdicts(out))
}

// Each line is JSON for others, too: it is in UTF-8.
func TestOutputIsUTF8(t *testing.T) {
	out, errOut := filtered(t, command.ExitOK, `{"id":"a","text":"`+harbour+"\",\"tag\":\"p\xf6rt\"}\n")
	require.Contains(t, out, "\"p\ufffdrt\"")
	require.Contains(t, errOut, "1 article with bytes that are no UTF-8")
}

// Damage ends a file, not the run, and the message names the place.
func TestDamagedFile(t *testing.T) {
	list := commandtest.File(t, "a.json", "["+line("a", harbour)+",\n{\"id\":\"x\",\"text\":\"y\nz\"},"+line("b",
		barley)+"]")
	out, errOut := filtered(t, command.ExitFailed, "", list, commandtest.File(t, "c.jsonl", line("c", barley)))
	require.Equal(t, []string{"a unique unique", "c unique unique"}, verdicts(out))
	require.Contains(t, errOut, list+":3: a value begins here that is damaged JSON")
}

func TestNoArticles(t *testing.T) {
	out, errOut := filtered(t, command.ExitOK, "")
	require.Empty(t, out)
	require.Contains(t, errOut, "0 articles in ")
	for in, want := range map[string]string{
		"\x7fELF\x00\x01\n{\"text\":\"x\"}\n": "it holds bytes that no text has",
		"hello\nworld\n":                      "there is no article in standard input (stdin:1: ",
		host.Gzip(t, line("a", "x"))[:30]:     "stdin",
	} {
		out, errOut := filtered(t, command.ExitFailed, in)
		require.Empty(t, out)
		require.Contains(t, errOut, want)
	}
}

// The sample's verdicts are in the order of the file and do not depend on the number of cores. A file that is named
// twice repeats itself.
func TestOrder(t *testing.T) {
	path := commandtest.File(t, "sample.jsonl", string(sample.News))
	want, _ := filtered(t, commandtest.Any, "", path, path)
	records := gjson.Get("["+strings.ReplaceAll(strings.TrimSpace(want), "\n", ",")+"]", "#.echosieve.record").Array()
	for i, r := range records {
		require.Equal(t, fmt.Sprintf("%s%s/0/%d", path, []string{"", "#2"}[2*i/len(records)], i%(len(records)/2)+1),
			r.String())
	}
	require.Equal(t, 154, len(records))
	require.NotContains(t, want, `"unique","topic":"unique","record":"`+path+`#2/0/`)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got, _ := filtered(t, commandtest.Any, "", path, path)
	require.Equal(t, want, got)
}

// An article without a time is within the window of each other one, also before the first that has one.
func TestUndated(t *testing.T) {
	dated := func(id, text, date string) string { return line(id, text, `,"date":"`+date+`"`) }
	const beetles = "Beetles in the forest, which a forester counts."
	in := line("a", harbour) + line("b", barley) + dated("c", beetles, "2024-01-01") + dated("d", harbour, "2024-01-10") +
		dated("e", barley, "2024-05-10") + line("f", beetles)
	for _, args := range [][]string{nil, {"--state", t.TempDir()}} {
		out, _ := filtered(t, commandtest.Any, in, args...)
		require.Equal(t, []string{"a unique unique", "b unique unique", "c unique unique", "d exact duplicate a",
			"e exact duplicate b", "f exact duplicate c"}, verdicts(out))
	}
}

// How far apart two articles without a time are is not known: the later one may be the other one sent again.
func TestUndatedAreSentAgain(t *testing.T) {
	in := line("a", harbour, `,"publisher":"Post"`) + line("b", strings.Replace(harbour, " the ", " this ", 1),
		`,"publisher":"Post"`)
	out, _ := filtered(t, commandtest.Any, in)
	require.Equal(t, []string{"a unique unique", "b near duplicate a"}, verdicts(out))
}

// Articles of publishers that are never compared are nothing to each other, also where their texts are equal.
func TestNever(t *testing.T) {
	of := func(id, publisher string) string {
		return line(id, harbour, `,"title":"Harbour","publisher":"`+publisher+`","url":"https://`+publisher+`/`+id+`"`)
	}
	in := of("a", "a.example") + of("b", "b.example") + of("a2", "a.example") + of("c", "c.example") +
		of("c2", "c.example") + of("d", "d.example")
	out, _ := filtered(t, commandtest.Any, in, "--detection.never", "a.example b.example,c.example *")
	require.Equal(t, []string{"a unique unique", "b unique unique", "a2 exact duplicate a", "c unique unique",
		"c2 unique unique", "d near duplicate a"}, verdicts(out))
	_, errOut := filtered(t, command.ExitFailed, in, "--detection.never", "a.example")
	require.Contains(t, errOut, "name two publishers, or one and *")
}

func TestWindow(t *testing.T) {
	in := line("a", harbour, `,"ts":1700000000`) + line("b", harbour, `,"ts":"2023-11-14 23:13:20"`) +
		line("c", harbour, `,"published":"Wed, 22 Nov 2023 00:00:00 GMT"`) +
		line("d", harbour) + line("e", harbour, `,"ts":null,"date":"2023-11-14"`)
	out, _ := filtered(t, commandtest.Any, in, "--window", "24h")
	require.Equal(t, []string{"a unique unique", "b exact duplicate a", "c unique unique", "d exact duplicate a",
		"e exact duplicate a"}, verdicts(out))
	out, _ = filtered(t, commandtest.Any, in, "--window", "24h", "--time-field", "none")
	require.Equal(t, []string{"a unique unique", "b exact duplicate a", "c exact duplicate a", "d exact duplicate a",
		"e exact duplicate a"}, verdicts(out))
}

// The time is that of the first of --time-field that has one; what is no time is told.
func TestTimes(t *testing.T) {
	for value, want := range map[string]string{
		`{"date":"2023-11-14","text":"x","ts":1700000000}`: "2023-11-14T22:13:20Z",
		`{"ts":1,"date":"2023-11-14","ts":1700000000}`:     "2023-11-14T22:13:20Z",
		`{"ts":"soon","date":"2023-11-14"}`:                "2023-11-14T00:00:00Z",
		`{"ts":""}`:                                        "", `{"a":{"ts":1700000000}}`: "", `x`: "", ``: "",
	} {
		at, unread := decode.DefaultTimes.Find([]byte(value))
		require.Equal(t, want == "", at.IsZero(), value)
		if want == "" {
			require.Equal(t, gjson.Get(value, "ts").String(), unread, value)
		} else {
			require.Equal(t, want, at.UTC().Format(time.RFC3339Nano), value)
		}
	}
	_, said := filtered(t, command.ExitOK, line("a", harbour, `,"date":"2 hours ago"`))
	require.Contains(t, said, "1 time of publication could not be read, by form: 1 0 a a (first 2 hours ago)")
}

// A line is written as soon as nothing more comes, an interrupt ends the run behind a whole line, and nobody waits for
// more input.
func TestInterrupt(t *testing.T) {
	in, feed := io.Pipe()
	out, printed, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var errOut bytes.Buffer
	go func() {
		ended <- command.Execute(ctx, commandtest.Only(Command()), []string{"filter"}, in, printed, &errOut)
		printed.Close()
	}()
	_, err = io.WriteString(feed, line("a", harbour)+line("b", harbour))
	require.NoError(t, err)
	got := make([]byte, 0, 4096)
	for bytes.Count(got, []byte("\n")) < 2 {
		n, err := out.Read(got[len(got):cap(got)])
		require.NoError(t, err)
		got = got[:len(got)+n]
	}
	interrupt()
	require.Equal(t, command.ExitFailed, <-ended)
	require.Equal(t, []string{"a unique unique", "b exact duplicate a"}, verdicts(string(got)))
	require.Contains(t, errOut.String(), "2 articles in ")
	require.Contains(t, errOut.String(), "interrupted")
	require.NoError(t, feed.CloseWithError(io.ErrClosedPipe))
}

// Who stops reading, as head does, has what it wants.
func TestNobodyReads(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	in.Close()
	defer out.Close()
	var errOut bytes.Buffer
	require.Equal(t, command.ExitOK, command.Execute(t.Context(), commandtest.Only(Command()), []string{"filter"},
		strings.NewReader(line("a", harbour)), out, &errOut))
	require.Empty(t, errOut.String())
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	_, errOut := filtered(t, command.ExitFailed, line("a", harbour), "--unique", "/dev/full")
	require.Contains(t, errOut, "no space left on device")
}

// ofService returns the lines of the sample, the file of this path, with the verdicts of the service, on the index
// in Redis.
func ofService(t *testing.T, addr, path string) string {
	t.Helper()
	cfg := config.Default()
	cfg.Redis.Namespace += "-" + t.Name() + time.Now().Format("150405.000")
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	index := indexrig.New(t, redisrig.Client(t, addr), cfg.IndexConfig(made.ID()))
	known := learnt.NewInOrder()
	made.LeaveOut(known.Rows)
	pipe := pipeline.New(pipeline.Config{Decode: cfg.Input.AsJSON(), MaxMessageBytes: cfg.Kafka.MaxMessageBytes,
		NoPossible: true, Learnt: known}, made, index, nil)
	now, n := time.Now(), int64(0)
	var lines []byte
	for value := range sample.Lines() {
		n++
		r := record.Record{Coordinates: article.Coordinates{Topic: path, Offset: n}, Value: value, Time: now}
		// one by one: of a claim of several, later ones are candidates, too
		batch, err := pipe.Prepare(t.Context(), []record.Record{r})
		require.NoError(t, err)
		decided, err := pipe.Decide(t.Context(), batch)
		require.NoError(t, err)
		member := decided[0].Member()
		lines = append(member.AppendTo(lines, r.Value), '\n')
	}
	return string(lines)
}

// The verdicts of the shipped sample are those of the service, byte by byte.
func TestSameAsService(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		path := commandtest.File(t, "sample.jsonl", string(sample.News))
		got, _ := filtered(t, commandtest.Any, "", path)
		require.Equal(t, ofService(t, addr, path), got)
	})
}

// A drop that is marked as wrong, or named, is unique in the next run, once. Later copies are copies.
func TestRelease(t *testing.T) {
	folder := t.TempDir()
	copied := "RIVERTON (Press) - " + harbour
	in := line("a", harbour) + line("b", copied) + line("c", copied+" It is old.") + line("b", copied)
	marks := commandtest.File(t, "marks.tsv", "id_a\tid_b\tlabel\tkind\trecord_a\trecord_b\na\tb\t0\tnear overlap\t"+
		"stdin/0/1\tstdin/0/2\na\tc\t1\tnear overlap\tstdin/0/1\tstdin/0/3\n")
	for _, args := range [][]string{{"--release", "b"}, {"--from", marks}} {
		out, _ := filtered(t, command.ExitOK, in, args...)
		require.Equal(t, []string{"a unique unique", "b unique unique", "c near duplicate a", "b exact duplicate b"},
			verdicts(out), args)
		require.Equal(t, 1, strings.Count(out, `"reason":"released"`))
	}
	_, errOut := filtered(t, command.ExitFailed, in, "--from", folder+"/none.tsv")
	require.Contains(t, errOut, "--from: ")
	state := filepath.Join(folder, "state")
	for i, want := range []string{"near duplicate a", "unique unique", "exact duplicate b"} {
		args := []string{"--state", state}
		if i > 0 {
			args = append(args, "--release", "b")
		}
		out, _ := filtered(t, command.ExitOK, line("a", harbour)+line("b", copied)+strings.Repeat(" ", i), args...)
		require.Equal(t, "b "+want, verdicts(out)[1], "run %d", i)
	}
}

// The page has what was dropped, the least sure first, from a pipe, too. An original of an earlier run has no text.
func TestDropsPage(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "drops.html")
	in := line("a", harbour) + line("b", "RIVERTON (Press) - "+harbour) + line("c", harbour) + line("d", barley)
	args := []string{"--html", page, "--state", filepath.Join(folder, "state")}
	filtered(t, command.ExitOK, in, args...)
	html := commandtest.Read(t, page)
	require.Equal(t, 2, strings.Count(html, "<article "))
	require.Contains(t, html, "4 articles; 2 dropped")
	require.Contains(t, html, "<ins>RIVERTON (Press) - </ins>")
	require.Contains(t, html, "Near copy: ")
	require.Less(t, strings.Index(html, `data-idb="b"`), strings.Index(html, `data-idb="c"`))
	filtered(t, command.ExitOK, line("e", barley), args...)
	require.Contains(t, commandtest.Read(t, page), "no text: an earlier run has read it")
	in = commandtest.File(t, "in.jsonl", line("a", harbour))
	_, errOut := filtered(t, command.ExitFailed, "", "--html", in, in)
	require.Contains(t, errOut, "is also read")
}
