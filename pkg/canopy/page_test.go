package canopy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// fetchPage reads a path, and says which page it is of.
func fetchPage(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.Get(url)
	assert.NilError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	assert.NilError(t, err)
	return r.StatusCode, string(body)
}

// The page is served by the HTTP listener, by the handler that a program mounts, and by the admin listener, which
// alone offers changes.
func TestPage_IsServedByEachHandler(t *testing.T) {
	s, err := canopy.Start(t.Context(),
		canopy.Options{HTTP: canopy.HTTP{Address: "127.0.0.1:0"}, AdminAddress: "127.0.0.1:0"})
	assert.NilError(t, err)
	defer s.Close()
	mounted := httptest.NewServer(http.StripPrefix("/canopy", s.Handler()))
	defer mounted.Close()
	for base, offers := range map[string]string{"http://" + s.HTTPAddress().String(): "no", mounted.URL + "/canopy": "no",
		"http://" + s.AdminAddress().String(): "yes"} {
		status, text := fetchPage(t, base+"/")
		assert.Equal(t, status, http.StatusOK)
		assert.Assert(t, strings.Contains(text, `name="canopy-admin" content="`+offers+`"`), text)
		status, text = fetchPage(t, base+"/ws/v1/partitions")
		assert.Equal(t, status, http.StatusOK)
		assert.Assert(t, strings.HasPrefix(text, "["), text)
		status, _ = fetchPage(t, base+"/nothing.js")
		assert.Equal(t, status, http.StatusNotFound)
	}
}

func TestPage_OfAnotherBuild(t *testing.T) {
	dir := t.TempDir()
	_, err := canopy.Start(t.Context(), canopy.Options{HTTP: canopy.HTTP{WebRoot: dir}})
	assert.ErrorContains(t, err, "HTTP.WebRoot: "+dir+" has no index.html")
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("another page"), 0o600))
	s, err := canopy.Start(t.Context(),
		canopy.Options{HTTP: canopy.HTTP{Address: "127.0.0.1:0", WebRoot: dir}, AdminAddress: "127.0.0.1:0"})
	assert.NilError(t, err)
	defer s.Close()
	_, text := fetchPage(t, "http://"+s.HTTPAddress().String()+"/")
	assert.Equal(t, text, "another page")
	_, text = fetchPage(t, "http://"+s.AdminAddress().String()+"/")
	assert.Assert(t, strings.HasPrefix(text, "<!doctype html>"))
}

func TestOptions_NegativeLiveStreams(t *testing.T) {
	_, err := canopy.Start(t.Context(), canopy.Options{HTTP: canopy.HTTP{MaxLiveStreams: -1}})
	assert.ErrorContains(t, err, "HTTP.MaxLiveStreams: -1 is negative")
}
