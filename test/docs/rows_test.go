package docs

import "testing"

// row says how a command is tried and what it must print.
type row struct {
	command string // as the page prints it; before " ...", its beginning
	// with are pairs of old and new text: what stands for the reader's own files, and flags that shorten a
	// measurement. The addresses localhost:9092 and localhost:6379 are always replaced by those of the test's
	// servers.
	with []string
	// find, unless nil, waits until what ran before has done what the command needs, and returns more pairs.
	find func(*testing.T, *workspace) []string
	want []string // regular expressions that the output matches
	// output, unless nil, returns what is compared instead of what the command prints.
	output func(*testing.T, *workspace) string
	// shownIn is a page that shows lines of the output in the block after the command. The output must have
	// them, up to their numbers.
	shownIn string
	// until is a regular expression of the output of a command that does not end by itself. It is stopped
	// with SIGTERM at the end of the test, or at once with stop.
	until string
	stop  bool
	// parsed is the reason why the command is not run. Then its words are checked: see parse.
	parsed string
}

const (
	noEngine  = "needs a container engine; test/deploy tries the steps"
	noCluster = "needs a cluster; test/deploy decodes the manifests"
	noSystem  = "changes the machine; test/deploy opens the package and has systemd read the unit"
	minutes   = "takes minutes; it is a part of the tests, or measures"
	fromPage  = "the marks come from a browser; test/console saves and reads them"
	dataset   = "cmd/echosieve-lab/internal/eval/testdata/"
)

// rows are in the order in which they run: that of a reader who begins with README.
var rows = []row{
	// README.md
	{command: "make demo", with: []string{"make demo", "bin/echosieve-lab demo"},
		want: []string{`77 records: \d+ unique`}, shownIn: "README.md"},
	{command: "make test", parsed: minutes},
	{command: "make wheel", parsed: "test/deploy installs a wheel and runs it"},
	{command: "bin/echosieve-lab demo --serve", with: []string{"--serve", "--serve --http.listen 127.0.0.1:0"},
		until: `publish from another terminal`, stop: true},
	// The sample has dead letters: exit code 1.
	{command: "bin/echosieve filter articles.jsonl.gz > judged.jsonl",
		with: []string{"judged.jsonl", "judged.jsonl || true"}, output: fileText("judged.jsonl"),
		want: []string{`"echosieve":\{"verdict":"near"`}},
	{command: "docker compose --profile feeder up --build", parsed: noEngine},
	{command: "make build", parsed: "the test builds the same programs"},
	{command: "bin/echosieve config reference > echosieve.yaml", output: fileText("echosieve.yaml"),
		want: []string{`(?m)^kafka:$`, `(?m)^window: 168h`}},
	{command: "bin/echosieve check --config echosieve.yaml", want: []string{`(?m)^recipe +ok `, `(?m)^kafka `,
		`(?m)^redis `, `The service can start`}},
	{command: "bin/echosieve run --config echosieve.yaml", until: `joined group generation`},
	{command: "bin/echosieve produce --config echosieve.yaml articles.jsonl.gz",
		want: []string{`^\d+ records published to articles in .* 0 bad lines\n` +
			`3 of the records will be dead letters: no_text; see input.fields\n$`}},
	// docs/benchmarks.md
	{command: "echosieve-lab bench scale --stored 1M,5M,20M,50M --limit 12000 --redis.addrs localhost:6400 " +
		"articles.jsonl.gz", parsed: minutes},
	{command: "echosieve-lab bench FILE", with: []string{"FILE", "articles.jsonl.gz --rounds 1"},
		want: []string{`(?m)^decode +\d`, `(?m)^whole +\d`}},
	{command: "go test ./app/inquiry -run NONE -bench Look -benchtime 3000x", parsed: minutes},
	{command: "go test ./test/e2e -run NONE -bench Stories -benchtime 1x", parsed: minutes},
	{command: "ECHOSIEVE_TEST_STORED=100000 go test ./test/e2e -run NONE -bench Service -benchtime 3x",
		parsed: minutes},
	{command: "echosieve filter --state seen articles.jsonl.gz > judged.jsonl",
		parsed: "it answers 1, because some articles are dead letters; cmd/echosieve/internal/filter has its tests"},
	{command: "echosieve-lab load --rate 300", with: []string{"300", "100 --duration 1s --warmup 200ms --idle 100ms"},
		want: []string{`service: ready \d+ ms after its start`, `p50 +p90 +p99`, `100/s: \d+ records published`}},
	{
		command: "echosieve-lab load --real --kafka.brokers localhost:9092 --redis.addrs localhost:6379 " +
			"--redis.namespace load " +
			"--kafka.create_topics --rate 1500 --duration 10s",
		parsed: minutes,
	},
	// docs/configuration.md
	{command: "echosieve config print --config echosieve.yaml --sources",
		want: []string{`(?m)brokers: .*# .*ECHOSIEVE_KAFKA_BROKERS`}},
	{command: "echosieve check --config echosieve.yaml", want: []string{`The service can start`}},
	// docs/evaluation.md
	{command: "echosieve-lab eval pairs --docs " + dataset + "stream.jsonl --pairs " + dataset + "pairs.tsv",
		want: []string{`(?m)^recall +[01]\.\d+`, `(?m)^precision `, `(?m)^kind +pairs +flagged`}},
	{command: "echosieve-lab eval stream --docs articles.jsonl.gz --sample 20 --html drops.html",
		want: []string{`(?m)^across +\d+ +\d+ +\d+ +\d+`, `(?m)^publishers across: the right one is dropped`}},
	// docs/from-simhash.md
	{command: "echosieve-lab eval versus articles.jsonl --recipe classic-python-200 --html versus.html",
		with: []string{"articles.jsonl", "articles.jsonl.gz"}, want: []string{`(?m)^only classic-python-200 +\d+`}},
	// docs/install.md
	{command: "make release", parsed: "test/deploy runs its script"},
	{command: "sha256sum --check SHA256SUMS", parsed: "test/deploy compares the sums"},
	{command: "apt-get install ./echosieve_1.0.0_amd64.deb", parsed: noSystem},
	{command: "editor /etc/echosieve/echosieve.yaml", parsed: noSystem},
	{command: "echosieve check --config /etc/echosieve/echosieve.yaml",
		with: []string{"/etc/echosieve", "deploy/release/package"}, want: []string{`The service can start`}},
	{command: "systemctl enable --now echosieve", parsed: noSystem},
	{command: "echosieve produce --sample --rate 5 --kafka.brokers localhost:9092",
		with: []string{"--rate 5", "--rate 50"}, until: `\d\d records published`, stop: true},
	{
		command: "docker build -f deploy/Dockerfile --build-arg VERSION=$(git describe --tags --always) -t " +
			"registry.example/echosieve:1.0 .",
		parsed: noEngine,
	},
	{command: "make image-test", parsed: minutes},
	{command: "helm install echosieve deploy/helm --namespace echosieve --create-namespace --values values.yaml",
		parsed: noCluster},
	{command: "kubectl create namespace echosieve", parsed: noCluster},
	{command: "kubectl -n echosieve create secret generic echosieve --from-literal=ECHOSIEVE_REDIS_PASSWORD=...",
		parsed: noCluster},
	{command: "kubectl apply -k deploy/k8s/example", parsed: noCluster},
	// docs/operations.md
	{command: "kafka-consumer-groups.sh --reset-offsets", parsed: "a program of Kafka; the page names the option only"},
	{command: "echosieve ready", find: ready, want: []string{`"ready": ?true`}},
	{command: "echosieve index lookup ARGUMENT", with: []string{"ARGUMENT", "@original.txt"}, find: judged,
		want: []string{`articles/0/\d+`}},
	{command: "echosieve learnt", want: []string{`hash`}},
	{command: "echosieve learnt never HASH", with: []string{"HASH", "00c3a5d1f2e49b77"},
		want: []string{`1 sentence left out of nothing`}},
	{command: "echosieve index refill --config echosieve.yaml", find: committed, want: []string{`\d+ `}},
	{command: "echosieve index forget TOPIC/PARTITION/OFFSET",
		with: []string{"TOPIC/PARTITION/OFFSET", "articles/0/6"}, want: []string{`forgotten|forgot`}},
	{command: "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 echosieve run --config echosieve.yaml",
		parsed: "a service runs already; test/e2e sends traces to a receiver"},
	// docs/stories.md
	{command: "echosieve filter --stories stories.jsonl articles.jsonl.gz > judged.jsonl",
		with: []string{"> judged.jsonl", "> judged.jsonl || true"}, output: fileText("stories.jsonl"),
		want: []string{`^\{"root":\{"id":`, `"copies":2,`}},
	{command: "echosieve stories --config echosieve.yaml --http.listen 127.0.0.1:9465",
		parsed: "test/e2e runs it beside a service"},
	{command: `echosieve label --config echosieve.yaml --label retracted --text "Taken back." articles/2/1517`,
		parsed: "cmd/echosieve publishes labels"},
	{command: "curl 'localhost:9464/v1/stories?sort=publishers&since=24h&limit=10'",
		parsed: "app/storylist asks for these parameters"},
	{command: "curl localhost:9464/v1/stories/articles/2/1517", parsed: "app/storylist asks for a root"},
	{command: "curl 'localhost:9464/v1/stories?publishers=3&after=CURSOR'", parsed: "app/storylist follows the stories"},
	{command: "curl -N -H 'Accept: text/event-stream' localhost:9464/v1/stories", parsed: "app/storylist takes events"},
	{command: "echosieve mcp --stories FILE", parsed: "cmd/echosieve/internal/mcp reads a file"},
	{command: "echosieve mcp --url http://localhost:9464 --token-file token", parsed: "cmd/echosieve/internal/mcp asks"},
	{command: "curl 'localhost:9464/v1/stories.atom?publishers=3'", parsed: "app/storylist reads the feed"},
	// docs/output.md
	{command: "echosieve explain --config echosieve.yaml articles-duplicate/2/1517", find: duplicate,
		want: []string{`(?m)^recipe +news-|near|exact`}},
	{command: "echosieve explain --config echosieve.yaml articles/2/88231 --html why.html",
		with: []string{"articles/2/88231", "articles/0/1"}, output: fileText("why.html"),
		want: []string{`<html`, `articles/0/1`}},
	{command: "echosieve explain --config echosieve.yaml --id x44 --since 72h", with: []string{"x44", "zh-metro-src"},
		want: []string{`zh-metro-src`}},
	{command: "echosieve compare --texts a.txt b.txt", with: []string{"a.txt b.txt", "original.txt copy.txt"},
		want: []string{`Near copy`}},
	{command: "echosieve look --config echosieve.yaml article.json",
		with: []string{"echosieve look", `head -n 1 <(zcat -f articles.jsonl.gz) > article.json; echosieve look`},
		want: []string{`(?m)^This is advice`}},
	{command: "curl -s http://localhost:9464/v1/look -H 'Content-Type: application/json' -d @article.json",
		parsed: "the service of this test runs without http.look; app/inquiry posts to it"},
	{command: "curl -s localhost:9464/v1/changes/articles-duplicate/2/1517",
		parsed: "the service of this test runs without http.look; app/inquiry asks one"},
	{
		command: `kcat -b localhost:9092 -t articles-dead -C -e -q -D '\x1e' | ` +
			`kcat -b localhost:9092 -t articles -P -D '\x1e'`,
		output: refusedAgain, want: []string{`^\d+ dead letters`},
	},
	// docs/recipe-change.md
	{command: "echosieve check --shadow --config new.yaml", with: []string{"new.yaml", "echosieve.yaml"},
		want: []string{`The service can start`}},
	{command: "echosieve run --shadow --config new.yaml",
		with: []string{"new.yaml", "echosieve.yaml --http.listen 127.0.0.1:0"}, until: `joined group generation`},
	{command: "echosieve filter --html drops.html articles.jsonl.gz > judged.jsonl",
		with: []string{"> judged.jsonl", "> judged.jsonl || true"}, output: fileText("drops.html"),
		want: []string{`<article tabindex`, `Near copy: `}},
	{command: "echosieve explain --config echosieve.yaml --html drops.html --since 6h",
		output: fileText("drops.html"), want: []string{`<html`, `Dropped articles of the last 6h`}},
	{command: "echosieve filter --from marks.tsv articles.jsonl.gz > judged.jsonl", parsed: fromPage},
	{command: "echosieve release --config echosieve.yaml --from marks.tsv", parsed: fromPage},
	{command: "echosieve-lab eval pairs --pairs marks.tsv --html curves.html", parsed: fromPage},
	{command: "echosieve release --config echosieve.yaml articles-duplicate/2/1517", find: duplicate,
		with: nil, want: []string{`released as articles/`}},
	{command: "echosieve explain --shadow --config new.yaml", parsed: "the page names the command only"},
	{
		command: "echosieve diff --config echosieve.yaml articles-unique,articles-duplicate,articles-dead " +
			"articles-shadow --since 24h",
		find: shadowed, want: []string{`on both sides`},
	},
	{command: "echosieve index refill --config new.yaml --from input",
		with: []string{"new.yaml", "echosieve.yaml --redis.namespace refilled"}, want: []string{`\d+ `}},
	{command: "echosieve run --config new.yaml", parsed: "test/e2e follows the steps of the page"},
	// docs/runbook.md
	{command: "echosieve index accept --config echosieve.yaml", want: []string{`^nothing to accept|^accepted`}},
	// docs/reliability.md
	{command: "make torture", parsed: minutes},
	{command: "make torture ROUNDS=100 SEED=7", parsed: minutes},
	{command: "go run ./test/torture --rounds 1 --records 250000", parsed: minutes},
	{command: "go run ./test/torture --upgrade COMMIT", parsed: minutes},
	{command: "go run ./test/torture --stories", parsed: minutes},
	{command: "make test-all", parsed: minutes},
	{command: "go run ./test/torture --help",
		parsed: "compiles the fault runner only to print its flags; the rows above check the flags that the pages use"},
	{command: "ECHOSIEVE_TEST_ALL=1 go test ./test/torture/... -run 'Mistakes|Mutants'", parsed: minutes},
	// docs/runbook.md
	{command: "curl -s http://localhost:9464/readyz", find: httpAddress, want: []string{`"ready"`}},
	{command: "kafka-transactions.sh --bootstrap-server localhost:9092 ...", parsed: "a program of Kafka"},
	{
		command: "kafka-configs.sh --bootstrap-server localhost:9092 --alter --topic articles --add-config " +
			"retention.ms=604800000",
		parsed: "a program of Kafka",
	},
	{command: "redis-cli INFO memory", find: redisPort, want: []string{`maxmemory:\d`}},
	{command: "redis-cli CONFIG SET maxmemory 8gb", find: redisPort, want: []string{`^OK\n$`}},
	{command: "redis-cli INFO persistence", find: redisPort, want: []string{`rdb_last_bgsave_status:\w`}},
	{command: "redis-cli BGSAVE", find: redisPort, want: []string{`^Background saving started\n$`}},
	// docs/security.md
	{command: "kafka-acls.sh --add --allow-principal ...", parsed: "test/security grants these rights"},
	{command: "redis-cli ACL SETUSER echosieve on '>PASSWORD' '~echosieve:*' ...", find: redisPort,
		want: []string{`^OK\n$`}},
	{command: "docker run --read-only --cap-drop ALL --security-opt no-new-privileges echosieve", parsed: noEngine},
	// docs/tuning.md
	{command: "echosieve-lab bench scale --stored 1M --redis.addrs R --detection.probes 8 articles.jsonl.gz",
		parsed: minutes},
}
