package console

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

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
		b := &browserTab{t, startBrowser(t)}
		// The browser keeps the login that the first address names. A page's script may ask no address that names one.
		b.run(chromedp.Navigate("https://reader:"+password+"@"+w.HTTP+"/readyz"), chromedp.Navigate(page))
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
