package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"echosieve/internal/app/access"
	"echosieve/internal/app/config"
	"echosieve/test/certs"
	"echosieve/test/inprocess"
)

// TestConsoleBehindALogin opens the console of a service with TLS and a login in a browser: with a wrong
// password it shows nothing, with the right one verdicts arrive.
func TestConsoleBehindALogin(t *testing.T) {
	pair, dir := certs.NewAuthority(t).ServerOn("127.0.0.1"), t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	web, token := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(web,
		fmt.Appendf(nil, "basic_auth_users: {reader: %s}\ntls_server_config: {cert_file: %s, key_file: %s}\n", hash,
			pair.Cert, pair.Key), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("a-token-of-a-program\n"), 0o600))
	w := inprocess.Start(t, func(c *config.Config) {
		c.HTTP.Console, c.HTTP.ConfigFile, c.HTTP.TokenFile, c.HTTP.Open = true, web, token, []string{"/healthz"}
	})
	page := "https://" + w.HTTP + "/console/"

	open := func(password string) *browserTab {
		var answers sync.WaitGroup
		t.Cleanup(answers.Wait) // when the tab has ended
		tab := startBrowser(t)
		answer := func(serve func(context.Context) error) {
			if err := serve(tab); err != nil && tab.Err() == nil {
				t.Errorf("the browser does not go on: %v", err)
			}
		}
		asked, paused := chromedp.Events(tab, fetch.AuthRequired), chromedp.Events(tab, fetch.RequestPaused)
		tries := 0
		answers.Go(func() {
			for e, err := range asked {
				if err != nil {
					continue
				}
				reply := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials,
					Username: "reader", Password: password}
				if tries++; tries > 2 { // the person gives up
					reply = &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
				}
				answer(func(ctx context.Context) error {
					_, err := chromedp.Call(ctx, fetch.ContinueWithAuth,
						fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: reply})
					return err
				})
			}
		})
		answers.Go(func() {
			for e, err := range paused {
				if err == nil {
					answer(func(ctx context.Context) error {
						_, err := chromedp.Call(ctx, fetch.ContinueRequest,
							fetch.ContinueRequestParams{RequestID: e.RequestID})
						return err
					})
				}
			}
		})
		b, handle := &browserTab{t, tab}, true
		b.run(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &handle})
			return chromedp.Void{}, err
		}, chromedp.Navigate(page))
		return b
	}
	wrong := open("wrong")
	require.Contains(t, eval[string](wrong, "document.body.textContent"), "needs a login")
	require.Zero(t, eval[int](wrong, `document.querySelectorAll("#feed").length`))

	right := open("right")
	right.run(chromedp.WaitVisible("#feed-title"))
	right.until(`document.querySelectorAll("#connections .up").length === 3`)
	w.Publish(t, 0, time.Now(), inprocess.Value("a", "Behind a login",
		"The harbour board voted to deepen the eastern channel before the winter storms arrive."))
	right.until(row("Behind a login") + " !== undefined")
	right.do(row("Behind a login") + ".click()")
	right.until(`document.querySelector("#sides")?.textContent.includes("eastern channel")`)

	cfg := w.Config.HTTP
	cfg.Listen = w.HTTP
	status := func(cfg config.HTTPConfig, path string) int {
		res, err := access.Ask(t.Context(), cfg, path)
		require.NoError(t, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
	require.Equal(t, http.StatusOK, status(cfg, "/console/api/find?q="+url.QueryEscape("a")))
	require.Equal(t, http.StatusOK, status(cfg, "/readyz"))
	cfg.TokenFile = ""
	require.Equal(t, http.StatusUnauthorized, status(cfg, "/readyz"))
	require.Equal(t, http.StatusOK, status(cfg, "/healthz"))
}
