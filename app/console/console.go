// Package console serves a read-only web page of a running service: verdicts as they fall, throughput and
// share of copies, the state of the connections, articles beside the articles that they repeat, and a
// comparison of two pasted texts.
//
// The page is plain HTML, CSS and JavaScript, embedded, and loads nothing from elsewhere. Article text
// reaches the browser as JSON only, and the script inserts it as text, never as markup. It reads records of
// the configured topics only. Before it stand the guard of package service, which refuses requests of other
// sites' pages, and the login of package access.
package console

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"echosieve/app/told"
	"echosieve/consumer"
	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
)

// Path is the path of the page. All other paths of the console are below it.
const Path = "/console/"

// StoriesPath is the path of the stories.
const StoriesPath = Path + "api/stories"

//go:embed static
var static embed.FS

// Config says what the console shows.
type Config struct {
	// Version is that of the program.
	Version string
	// Kafka names the brokers and topics that records are read from.
	Kafka  broker.Config
	Decode decode.Config
	Recipe *recipe.Recipe
	// Judge compares texts as the service does.
	Judge *told.Judge
	// Stories answers for the stories at StoriesPath, and for each one below it.
	Stories http.Handler
}

// Console shows one service. New makes it, and Close ends it. Safe for concurrent use.
type Console struct {
	cfg     Config
	archive *tools.Archive
	feed    *feed
	log     *slog.Logger
	topics  map[string]bool // the topics that records are read from
	working chan struct{}   // bounds the requests that read records or compare texts
	routes  http.Handler
}

// maxWorking bounds how many requests read records or compare texts at a time, so that the console cannot
// take the memory and the cores that the service needs.
const maxWorking = 2

// New returns the console of a service. The caller closes the console.
func New(cfg Config, log *slog.Logger) (*Console, error) {
	topics := cfg.Kafka.Topics.All()
	archive, err := tools.NewArchive(cfg.Kafka, topics...)
	if err != nil {
		return nil, err
	}
	c := &Console{
		cfg: cfg, archive: archive, feed: newFeed(time.Now), log: log, topics: map[string]bool{},
		working: make(chan struct{}, maxWorking),
	}
	for _, name := range topics {
		c.topics[name] = true
	}
	c.routes = c.newRoutes()
	return c, nil
}

// Close ends the feeds of open pages and the connections to Kafka.
func (c *Console) Close() {
	c.feed.close()
	c.archive.Close()
}

// Watch returns a handler that does the work of h and shows its verdicts in the console.
func (c *Console) Watch(h consumer.Handler) consumer.Handler {
	w := watched{h, c.feed}
	if s, ok := h.(consumer.Snapshots); ok {
		return watchedSnapshots{w, s}
	}
	return w
}

type watched struct {
	consumer.Handler
	feed *feed
}

// Acknowledged implements consumer.Handler.
func (w watched) Acknowledged(outputs []pipeline.Output, took time.Duration) {
	w.Handler.Acknowledged(outputs, took)
	w.feed.show(outputs)
}

// watchedSnapshots is a watched handler whose outputs are snapshots.
type watchedSnapshots struct {
	watched
	snapshots consumer.Snapshots
}

// Outdated implements consumer.Snapshots.
func (w watchedSnapshots) Outdated(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	return w.snapshots.Outdated(ctx, b)
}

// ServeHTTP serves the page and its data, below Path.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	c.routes.ServeHTTP(w, r)
}

func (c *Console) newRoutes() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, http.StripPrefix(Path, http.FileServerFS(files)))
	mux.HandleFunc("GET "+Path+"api/feed", c.serveFeed)
	mux.HandleFunc("GET "+Path+"api/find", c.serveFind)
	mux.HandleFunc("GET "+Path+"api/verdict", c.limited(c.serveVerdict))
	mux.HandleFunc("GET "+Path+"api/titles", c.limited(c.serveTitles))
	mux.Handle("GET "+StoriesPath, c.cfg.Stories)
	mux.Handle("GET "+StoriesPath+"/", c.cfg.Stories)
	mux.HandleFunc("POST "+Path+"api/compare", c.limited(c.serveCompare))
	return mux
}

// limited serves at most maxWorking requests at a time. Others wait, or end when their client goes away.
func (c *Console) limited(serve func(ctx context.Context, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		select {
		case c.working <- struct{}{}:
			defer func() { <-c.working }()
			serve(ctx, w, r)
		case <-ctx.Done():
			http.Error(w, "too many requests are under way", http.StatusServiceUnavailable)
		}
	}
}

// requestTimeout bounds a request that reads records or compares texts.
const requestTimeout = 10 * time.Second
