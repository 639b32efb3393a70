// Package console serves a web page of a running service: verdicts as they fall, throughput and share of copies, the
// state of the connections, articles beside the articles that they repeat, and a comparison of two pasted texts. It
// changes one thing: a button publishes a dropped article after all.
//
// The page is plain HTML, CSS and JavaScript, embedded, and loads nothing from elsewhere. Article text
// reaches the browser as JSON only, and the script inserts it as text, never as markup. It reads records of
// the configured topics only. Before it stand the guard of package service, which refuses requests of other
// sites' pages, and the login of package access.
package console

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/app/release"
	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
)

// Path is the path of the page. All other paths of the console are below it.
const Path = "/console/"

// StoriesPath is the path of the stories.
const StoriesPath = Path + "api/stories"

//go:embed static
var static embed.FS

// Console shows one service. New makes it, and Close ends it. Safe for concurrent use.
type Console struct {
	Processes func() int // in the group, of which this one shows its verdicts; set before the first use, may be nil

	cfg     config.Config
	recipe  string // id
	judge   *inquiry.Judge
	reader  *inquiry.Reader
	release *release.Releaser
	feed    *feed
	log     *slog.Logger
	working *semaphore.Weighted // bounds the requests that read records or compare texts
	routes  *http.ServeMux
}

// maxWorking bounds how many requests read records or compare texts at a time, so that the console cannot
// take the memory and the cores that the service needs.
const maxWorking = 2

// New returns the console of a service with its recipe. The caller closes it. stories answers for the stories at
// StoriesPath, and for each one below it. releaser takes drops back, and stays the caller's.
func New(cfg config.Config, made *recipe.Recipe, stories http.Handler, releaser *release.Releaser,
	log *slog.Logger,
) *Console {
	c := &Console{cfg: cfg, recipe: made.ID(), judge: inquiry.NewJudge(cfg, made),
		reader:  inquiry.NewReader(cfg, io.Discard),
		release: releaser, feed: newFeed(time.Now), log: log, working: semaphore.NewWeighted(maxWorking),
		routes: http.NewServeMux()}
	c.reader.OnlyConfigured = true
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	c.routes.Handle("GET "+Path, http.StripPrefix(Path, http.FileServerFS(files)))
	c.routes.HandleFunc("GET "+Path+"api/feed", c.serveFeed)
	c.routes.HandleFunc("GET "+Path+"api/find", c.limited(c.serveFind))
	c.routes.HandleFunc("GET "+Path+"api/verdict", c.limited(c.serveVerdict))
	c.routes.HandleFunc("GET "+Path+"api/titles", c.limited(c.serveTitles))
	c.routes.Handle("GET "+StoriesPath, stories)
	c.routes.Handle("GET "+StoriesPath+"/", stories)
	c.routes.HandleFunc("POST "+Path+"api/compare", c.limited(c.serveCompare))
	c.routes.HandleFunc("POST "+Path+"api/release", c.limited(c.serveRelease))
	return c
}

// Close ends the feeds of open pages and the connections to Kafka.
func (c *Console) Close() {
	c.feed.close()
	c.reader.Close()
}

// Show shows acknowledged outputs.
func (c *Console) Show(outputs []pipeline.Output) { c.feed.show(outputs) }

// ServeHTTP serves the page and its data, below Path.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	c.routes.ServeHTTP(w, r)
}

// requestTimeout bounds a request that reads records or compares texts.
const requestTimeout = 10 * time.Second

// limited serves at most maxWorking requests at a time. Others wait, or end when their client goes away.
func (c *Console) limited(serve func(ctx context.Context, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		if c.working.Acquire(ctx, 1) != nil {
			http.Error(w, "too many requests are under way", http.StatusServiceUnavailable)
			return
		}
		defer c.working.Release(1)
		serve(ctx, w, r)
	}
}
