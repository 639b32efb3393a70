package broker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
)

func TestTokenServesUntilItsEnd(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":100}`, asked.Add(1))
	}))
	s := SASL{Mechanism: mechanismOAuth, TokenURL: server.URL, Username: "u", Password: "p", Extensions: "a=b,c=d"}
	i := s.newIssuer(http.DefaultTransport)
	logIn := func() string {
		_, first, err := oauth{token: i.current, extensions: s.sentExtensions()}.Start(t.Context())
		require.NoError(t, err)
		return string(first)
	}
	for range 3 {
		require.Equal(t, "n,,\x01auth=Bearer t1\x01a=b\x01c=d\x01\x01", logIn())
	}
	require.EqualValues(t, 1, asked.Load(), "one token serves all logins")
	require.InDelta(t, 80, time.Until(i.next).Seconds(), 5, "until four fifths of its life are over")
	i.next = time.Now()
	require.Contains(t, logIn(), "t2")

	server.Close()
	i.next = time.Now()
	require.Contains(t, logIn(), "t2", "while the endpoint is away, the token serves until its end")
	i.next, i.end = time.Now(), time.Now()
	_, err := i.current(t.Context())
	problem := (*diag.Problem)(nil)
	require.ErrorAs(t, err, &problem)
	require.False(t, problem.Permanent, "the endpoint may come back")
	require.Contains(t, problem.Remedy, "check that it runs, kafka.sasl.token_url")
}
