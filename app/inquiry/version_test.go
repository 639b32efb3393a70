package inquiry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/app/inquiry"
	"echosieve/pipeline/changes"
	"echosieve/test/inprocess"
	"echosieve/test/kafkatest"
)

const (
	ferry = "The ferry to Gull Island ran aground on Monday evening with all of its passengers aboard. The coast guard " +
		"says that 12 passengers were hurt. A spokeswoman of the shipping line could not say why the boat had left " +
		"its course in calm weather. The harbour stays closed until the tide has lifted the vessel from the rocks."
	divers = " Divers will look at the hull of the boat tomorrow."
)

// What is new in a dropped article is answered by its record in the input topic and in the output topic, as long as
// Kafka has its original.
func TestVersions(t *testing.T) {
	w := inprocess.Start(t, func(c *config.Config) { c.HTTP.Look = true })
	get := func(at string, status int) (body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.HTTP+inquiry.ChangesPath+at, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode, string(text))
		return string(text)
	}
	all := w.Decide(t, time.Now(), 1, inprocess.Value("a", "Aground", ferry),
		inprocess.Value("b", "Ferry aground"+strings.Repeat(" off", 1000), ferry+divers), `{"id": "dead"}`)
	verdicts := map[string]string{}
	for _, o := range w.Verdicts(t, len(all)) {
		verdicts[kafkatest.Header(o, "echosieve-input")] = fmt.Sprintf("%s/%d/%d", o.Topic, o.Partition, o.Offset)
	}
	body := get(all[1], http.StatusOK)
	require.JSONEq(t, body, get(verdicts[all[1]], http.StatusOK), "input and output name the same article")
	var v inquiry.Version
	require.NoError(t, json.Unmarshal([]byte(body), &v))
	require.Equal(t, []string{"near", all[0], all[1]}, []string{v.Verdict, v.Original.Record, v.Article.Record})
	require.Contains(t, v.Says, "Near copy: ")
	require.Equal(t, changes.Extension, v.Changes.Kind)
	require.Equal(t, []string{divers[1:]}, v.Changes.Added)
	require.True(t, strings.HasPrefix(v.Changes.Title.New, "Ferry aground off"))
	require.LessOrEqual(t, len(body), 4*2000)
	for at, status := range map[string]int{all[0]: http.StatusNotFound, all[2]: http.StatusNotFound,
		"articles/0/99": http.StatusNotFound, "articles/9/0": http.StatusNotFound, "others/0/0": http.StatusNotFound,
		"articles/0": http.StatusBadRequest, "": http.StatusBadRequest} {
		get(at, status)
	}

	w.Delete(t, "articles", 0, 1)
	v = inquiry.Version{}
	require.NoError(t, json.Unmarshal([]byte(get(all[1], http.StatusOK)), &v))
	require.Equal(t, []string{changes.OriginalGone, "near"}, []string{v.Why, v.Verdict})
	require.Nil(t, v.Changes)
}
