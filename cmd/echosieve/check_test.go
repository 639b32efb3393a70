package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/app/access"
	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/internal/diag"
	"echosieve/test/commandtest"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
	"echosieve/test/redisserver"
)

func checkJSON(t *testing.T, code int, args ...string) (result checker) {
	t.Helper()
	out, errOut := echosieve(t, code, "", append([]string{"check", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &result), "%s%s", out, errOut)
	return result
}

// checkedServers returns a broker, a Redis and the flags that name them.
func checkedServers(t *testing.T) []string {
	t.Helper()
	return []string{"--kafka.brokers", testBroker(t).ListenAddrs()[0], "--redis.addrs", miniredis.RunT(t).Addr()}
}

// If all servers answer, the service could start. Commands that miniredis does not know may only lead to warnings.
func TestCheckAllThere(t *testing.T) {
	servers := checkedServers(t)
	result := checkJSON(t, command.ExitOK, servers...)
	require.True(t, result.CanStart)
	require.NotEmpty(t, result.Recipe)
	out, _ := echosieve(t, command.ExitOK, "", append([]string{"check"}, servers...)...)
	require.Contains(t, out, "The service can start.")
	commandtest.FitsTerminal(t, out)
}

// A port that another program uses is a fault; one that a service of Echosieve uses is not.
func TestCheckListen(t *testing.T) {
	servers := checkedServers(t)
	const running = "a service of Echosieve is running there"
	for page, want := range map[string]string{"# HELP go_info Information.\n": "another program uses the port",
		"": running, "echosieve_build_info{version=\"1\"} 1\n": running} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if page == "" { // a login
				w.Header().Set("WWW-Authenticate", "Basic "+access.Realm)
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, page)
		}))
		defer server.Close()
		code := map[bool]int{true: command.ExitOK, false: command.ExitNo}[want == running]
		result := checkJSON(t, code, append(servers, "--http.listen", strings.TrimPrefix(server.URL, "http://"))...)
		require.True(t, slices.ContainsFunc(result.Findings, func(f diag.Finding) bool {
			return f.Component == "http" && f.Problem == want
		}), "%+v", result.Findings)
	}
	for _, wrong := range [][]string{
		{"--http.listen", "192.0.2.1:9464"}, {"--http.config_file", "/none"}, {"--http.console", "--http.listen", ":0"},
	} {
		checkJSON(t, command.ExitNo, append(wrong, servers...)...)
	}
}

func TestCheckNamesTheScriptsThatComeIn(t *testing.T) {
	servers := checkedServers(t)
	input := func(code int) []diag.Finding {
		return slices.DeleteFunc(checkJSON(t, code, servers...).Findings,
			func(f diag.Finding) bool { return f.Subject != "input" })
	}
	says := func(code int, severity diag.Severity, want string) {
		t.Helper()
		found := input(code)
		require.Len(t, found, 1)
		require.Equal(t, severity, found[0].Severity)
		require.Contains(t, found[0].Problem, want)
	}
	require.Empty(t, input(command.ExitOK), "the topic is empty")
	// The records have no key and are spread by chance. A partition with more than sampleRecords would show
	// its last ones only.
	lines := strings.Repeat(`{"id":"1","publisher":"p","text":"港务局昨日宣布，新的集装箱码头将于明年开工。"}`+"\n",
		25) +
		strings.Repeat(`{"url":"https://p.example/2","text":"The harbour board voted to deepen the channel."}`+"\n",
			sampleRecords-30)
	publish := func(lines string) {
		echosieve(t, command.ExitOK, lines, append([]string{"produce"}, servers[:2]...)...)
	}
	publish(strings.Repeat(`{"text":"港务局昨日宣布，新的集装箱码头将于明年开工。"}`+"\n", 5))
	says(command.ExitOK, diag.Warning, "5 with neither id nor address, 5 without a publisher")
	publish(lines)
	says(command.ExitOK, diag.OK, "of the last 50 records, 20 in script latin, 30 in script han, 5 with neither id nor "+
		"address, 5 without a publisher, 0 without a word, 0 would be dead letters")
	publish(strings.Repeat(`{"text":"...1"}`+"\n{\"headline\":\"x\"}\n", 5))
	says(command.ExitOK, diag.Warning, "5 would be dead letters")
	publish("{\"text\":\"x\"}\n" + strings.Repeat("{\"headline\":\"x\"}\n", 400))
	says(command.ExitNo, diag.Failure, "most of them for: no_text: none of the text fields")
}

// A fault of the input hides neither that the group's articles are in another index nor that they are in this one.
func TestCheckComparesTheIndex(t *testing.T) {
	w := inprocess.Start(t)
	w.Publish(t, 0, time.Now(), inprocess.Value("a", "", indexedText))
	w.Verdicts(t, 1)
	w.Stop()
	problems := func(args ...string) string {
		all := ""
		for _, f := range checkJSON(t, commandtest.Any, w.Args(args...)...).Findings {
			all += fmt.Sprintf("%s %s %s: %s\n", f.Component, f.Severity, f.Subject, f.Problem)
		}
		return all
	}
	require.Contains(t, problems(), "it has what the group has decided")
	require.Contains(t, problems("--kafka.group", "new"), "the group new has committed nothing yet")
	for range 3 {
		w.Publish(t, 0, time.Now(), `{"headline":"x"}`)
	}
	found := problems()
	require.Contains(t, found, "3 would be dead letters")
	require.Contains(t, found, "it has what the group has decided")
	found = problems("--window", "24h")
	require.Contains(t, found, "3 would be dead letters")
	require.Contains(t, found, "the group's articles are in another index")
	require.Contains(t, problems("--detection.stop_words", "/none"),
		"redis info index: not checked: the dictionaries have a fault")
	require.Contains(t, problems("--kafka.topics.input", "none"), "redis info index: not checked: Kafka has a fault")
	require.Contains(t, problems("--kafka.topics.input", "none"), "kafka info input: not checked: Kafka has a fault")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	require.Equal(t, command.ExitFailed, command.Execute(ctx, newRootCommand(), w.Args("check"),
		strings.NewReader(""), &out, &errOut))
	require.Empty(t, out.String())
	require.Contains(t, errOut.String(), "interrupted")
}

// TestWrongUsage requires that every kind of wrong usage is answered as commandtest.WrongUsage says.
func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return commandtest.FileIn(t, dir, name, text) }
	_, cfg := kafkatest.Fake(t, kfake.SeedTopics(1, config.Default().Kafka.Topics.Inputs[0]))
	kafka := "--kafka.brokers=" + cfg.Brokers[0]
	notJSON := file("passwd", "root:x:0:0:root:/root:/bin/bash\nbin:x:1:1:bin:/bin:/sbin/nologin\n")
	noText := file("notext.jsonl", `{"id":"1","headline":"x"}`+"\n")
	long := file("long.csv", "id,text\n"+strings.Repeat("x,y\n", 101))
	redis := redisserver.Addr(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)

	for args, want := range map[string]string{ // part of the error; it says what to type
		// Commands and arguments.
		"prodce":                   `unknown command "prodce"; did you mean echosieve produce?`,
		"config prnt":              "did you mean echosieve config print?",
		"config":                   "config needs one of its commands; see echosieve config --help",
		"run --http.console false": `run takes no arguments, but got "false"`,
		"compare one":              "compare wants two texts or files, A and B (put a text with spaces in quotes)",
		"explain": "explain wants the coordinates of one record, such as articles-duplicate/0/1517, or --id ID, but got " +
			"0 arguments",
		"explain x44": `"x44" is not of the form topic/partition/offset, such as articles-duplicate/0/1517; for an id, ` +
			"type --id x44",
		"diff a":       "diff wants two sides, A and B (put commas, without spaces, between the topics of one side)",
		"diff ,a b":    `a name is missing in ",a"; put commas, without spaces, between topics`,
		"look":         "wants one file with articles; see echosieve look --help",
		"index lookup": "wants one text, id, fingerprint or coordinates; see echosieve index lookup --help",
		"index forget": "wants the coordinates of one article, such as articles/3/128077, or an id; see echosieve index " +
			"forget --help",
		// Flags and their values.
		"version --jsn":                   "unknown flag: --jsn; did you mean --json?",
		"run --brokers a:1":               "unknown flag: --brokers; did you mean --kafka.brokers?",
		"--config e.yaml":                 "unknown flag: --config; see echosieve --help",
		"compare a b --top":               "flag needs an argument: --top; see echosieve compare --help",
		"explain --id x44 --since -1h":    `invalid argument "-1h" for "--since" flag: must not be negative`,
		"index refill --from outpts":      `--from wants outputs or input, not "outpts"`,
		"index lookup --as name x":        `--as wants text, id, fingerprint or coordinates, not "name"`,
		"produce " + kafka + " --rate -1": "--rate must be between 0 and 1000000",
		// Settings that exclude or need each other.
		"run --kafka.group echosieve-shadow": "names that end in -shadow are for shadows: choose another name, or start " +
			"the shadow with --shadow",
		"run --redis.cluster --redis.master_name news": "redis.cluster and master_name exclude each other: keep one",
		"produce " + kafka + " --input.format text": "a service with input.format text does not read; name a service and a " +
			"topic with input.format json",
		"produce " + kafka + " --sample " + noText: "--sample takes the place of files",
		// Files that are not there, and files without an article.
		"run --config " + dir + "/none.yaml": "echosieve config reference",
		"compare @" + dir + "/none.txt b":    "no such file",
		"look " + notJSON:                    "(" + notJSON + ":1: the first line is no JSON, and no header",
		"look " + long:                       "long.csv holds more than 100 articles; name a file of fewer",
		"produce " + kafka:                   "there is no article in standard input",
		// Servers that are not there, and servers of other kinds.
		"index forget --redis.addrs 127.0.0.1:1 x44":    "check that it runs, redis.addrs",
		"produce --kafka.brokers 127.0.0.1:1 " + noText: "check that it runs, kafka.brokers",
		"produce --kafka.brokers " + redis + " " + noText: redis + " speaks Redis, not Kafka: set kafka.brokers to the " +
			"brokers, port 9092 as a rule",
		"index stats --redis.addrs " + strings.TrimPrefix(web.URL, "http://"): "speaks HTTP, not Redis: set redis.addrs " +
			"to the servers of Redis",
		"index stats --redis.addrs " + redis + " --redis.db 99": "this Redis has no database of the number in redis.db: " +
			"lower redis.db; servers have 16 databases, 0 to 15",
		"produce " + kafka + " --kafka.topics.input artikles " + noText: "the topic artikles does not exist, or this user " +
			"has no right on it; create it, type the command again with --kafka.create_topics",
	} {
		t.Run(strings.ReplaceAll(args, dir, ""), func(t *testing.T) {
			commandtest.WrongUsage(t, newRootCommand(), want, strings.Fields(args)...)
		})
	}
}

var update = flag.Bool("update", false, "rewrite generated files instead of comparing them")

const referenceFile = "../../deploy/echosieve.reference.yaml"

func TestReferenceFile(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, config.Reference(), 0o644))
	}
	require.Equal(t, string(config.Reference()), commandtest.Read(t, referenceFile),
		"run: go test ./cmd/echosieve -run %s -update", t.Name())
	// The reference is a configuration, and means the defaults.
	fromFile, _ := echosieve(t, command.ExitOK, "", "config", "print", "--config", referenceFile)
	defaults, _ := echosieve(t, command.ExitOK, "", "config", "print")
	require.Equal(t, defaults, fromFile)
	out, _ := echosieve(t, command.ExitOK, "", "config", "reference")
	require.Equal(t, string(config.Reference()), out)
}

// One broken value per case; the message names its key.
func TestConfigMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"--http.listen=9464":                 "http.listen must be an address",
		"--http.hosts=http://a.b:9464":       `http.hosts has "http://a.b:9464", must be a name without scheme and port`,
		"--log.level=loud":                   "log.level must be debug",
		"--recipe=olds":                      `recipe is "olds", must be one of news, `,
		"--config=/does/not/exist.yaml":      "no such file",
		"--kafka.sasl.username=x":            "kafka.sasl has settings",
		"--kafka.brokers=a:1,u:hunter2@b:1":  "kafka.brokers must be host:port, without scheme, user or password",
		"--redis.addrs=redis://:hunter2@r:1": "redis.addrs must be host:port, without scheme, user or password",
		"--redis.password=hunter2": "--redis.password is no flag, because every user of a machine can " +
			"read command lines; put the secret into a file and type --redis.password_file FILE",
		"--kafka.sasl.password_file=/nowhere/": "kafka.sasl.password_file",
	} {
		out, errOut := echosieve(t, command.ExitFailed, "", "config", "print", args)
		require.Contains(t, errOut, want)
		require.NotContains(t, errOut, "hunter2")
		require.Empty(t, out)
	}
}
