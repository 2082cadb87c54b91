package webui

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// rest answers as REST does, with the path.
var rest = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, "REST "+r.Method+" "+r.URL.Path)
})

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "http://host/", nil)
	r.URL.Path = path
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	assert.NilError(t, err)
	return string(text)
}

// Every file that a file of the page names is there, and none is from elsewhere.
func TestEmbedded_NamesOnlyItsOwnFiles(t *testing.T) {
	site := map[string]string{}
	assert.NilError(t, fs.WalkDir(Embedded(ReadOnly).files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(Embedded(ReadOnly).files, name)
		site[name] = string(text)
		return err
	}))
	imports := regexp.MustCompile(`(?m)^import .*?'(\.[^']+)';|(?:src|href)="([a-z][^":]*)"`)
	seen := 0
	for name, text := range site {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			to := m[1] + m[2]
			if strings.HasPrefix(to, "ws/") {
				continue
			}
			seen++
			to = filepath.ToSlash(filepath.Join(filepath.Dir(name), to))
			if site[to] == "" {
				t.Errorf("%s names %s, which does not exist", name, to)
			}
		}
		if name != "js/dom.js" && name != "icon.svg" { // these have the name space of SVG
			assert.Assert(t, !strings.Contains(text, "http://") && !strings.Contains(text, "https://"),
				"%s names another origin", name)
		}
		assert.Assert(t, !strings.Contains(text, "innerHTML"), "%s makes markup from text", name)
		assert.Assert(t, contentType(name) != "application/octet-stream", "%s has no content type", name)
	}
	assert.Assert(t, seen > 50, "%d", seen)
}

func TestMount_ServesThePageAndLeavesTheRestToREST(t *testing.T) {
	h := Mount(Embedded(ReadOnly), rest)
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8",
		"/js/main.js": "text/javascript; charset=utf-8", "/css/base.css": "text/css; charset=utf-8",
		"/icon.svg": "image/svg+xml",
	} {
		r := ask(t, h, http.MethodGet, path)
		assert.Equal(t, r.StatusCode, http.StatusOK, path)
		assert.Equal(t, r.Header.Get("Content-Type"), want, path)
	}
	for _, path := range []string{"/ws/v1/partitions", "/ws", "/WS/v1", "/healthz", "/readyz", "/metrics", "/debug/stack",
		"/nothing", "/js", "/js/", "/js/../index.html", "//", "/./", "/js//main.js", "/../embedded.go", "/js\\main.js",
		"/index.html\x00", ""} {
		r := ask(t, h, http.MethodGet, path)
		assert.Equal(t, r.StatusCode, http.StatusTeapot, "%q", path)
		assert.Equal(t, r.Header.Get("Content-Security-Policy"), "", "%q", path)
	}
	for _, method := range []string{http.MethodPost, http.MethodOptions, http.MethodDelete} {
		assert.Equal(t, ask(t, h, method, "/").StatusCode, http.StatusTeapot, method)
	}
	r := ask(t, h, http.MethodHead, "/")
	assert.Equal(t, r.StatusCode, http.StatusOK)
	assert.Equal(t, bodyOf(t, r), "")
}

func TestEmbedded_Headers(t *testing.T) {
	h := Mount(Embedded(ReadOnly), rest)
	r := ask(t, h, http.MethodGet, "/")
	policy := r.Header.Get("Content-Security-Policy")
	assert.Assert(t, strings.HasPrefix(policy, "default-src 'self'; "), policy)
	assert.Assert(t, !strings.Contains(policy, "unsafe") && strings.Contains(policy, "frame-ancestors 'none'"), policy)
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cache-Control":              "no-cache",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept-Encoding",
		"Access-Control-Allow-Origin": "",
	} {
		assert.Equal(t, r.Header.Get(name), want, name)
	}
}

// A browser that has a file is told so, for each encoding of it.
func TestEmbedded_ETagAndGzip(t *testing.T) {
	h := Mount(Embedded(ReadOnly), rest)
	plain := ask(t, h, http.MethodGet, "/js/main.js")
	packed := ask(t, h, http.MethodGet, "/js/main.js", "Accept-Encoding", "br, gzip")
	assert.Equal(t, packed.Header.Get("Content-Encoding"), "gzip")
	assert.Equal(t, plain.Header.Get("ETag"), packed.Header.Get("ETag"))
	assert.Assert(t, strings.HasPrefix(plain.Header.Get("ETag"), `W/"`))
	unpacked, err := gzip.NewReader(packed.Body)
	assert.NilError(t, err)
	text, err := io.ReadAll(unpacked)
	assert.NilError(t, err)
	assert.Equal(t, string(text), bodyOf(t, plain))
	for _, c := range []struct {
		tag, encoding string
		want          int
	}{
		{plain.Header.Get("ETag"), "", http.StatusNotModified},
		{`"other", ` + plain.Header.Get("ETag"), "", http.StatusNotModified},
		{packed.Header.Get("ETag"), "gzip", http.StatusNotModified},
		{"*", "", http.StatusNotModified},
		{`"other"`, "", http.StatusOK},
	} {
		r := ask(t, h, http.MethodGet, "/js/main.js", "If-None-Match", c.tag, "Accept-Encoding", c.encoding)
		assert.Equal(t, r.StatusCode, c.want, "%s %s", c.tag, c.encoding)
		if c.want == http.StatusNotModified {
			assert.Equal(t, bodyOf(t, r), "")
			assert.Equal(t, r.Header.Get("Content-Encoding"), "")
		}
	}
}

func TestEmbedded_SaysWhetherChangesArePossible(t *testing.T) {
	for changes, want := range map[Changes]string{ReadOnly: "no", WithChanges: "yes"} {
		text := bodyOf(t, ask(t, Mount(Embedded(changes), rest), http.MethodGet, "/"))
		assert.Assert(t, strings.Contains(text, `name="canopy-admin" content="`+want+`"`))
	}
}

// buildOf writes the files of another page.
func buildOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		assert.NilError(t, os.WriteFile(at, []byte(text), 0o644))
	}
	return dir
}

func TestDirectory_ServesAnotherPage(t *testing.T) {
	dir := buildOf(t, map[string]string{
		"index.html": "dashboard", "assets/config/envconfig.json": "{}", "main-ABC.js": "main()",
		"ws/v1/partitions": "shadow", "healthz": "shadow",
	})
	assert.NilError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outside")))
	site, err := Directory(dir)
	assert.NilError(t, err)
	defer site.Close()
	h := Mount(site, rest)
	for path, want := range map[string]string{"/": "dashboard", "/assets/config/envconfig.json": "{}",
		"/main-ABC.js": "main()"} {
		r := ask(t, h, http.MethodGet, path)
		assert.Equal(t, r.StatusCode, http.StatusOK, path)
		assert.Equal(t, bodyOf(t, r), want)
		again := ask(t, h, http.MethodGet, path, "If-None-Match", r.Header.Get("ETag"))
		assert.Equal(t, again.StatusCode, http.StatusNotModified, path)
	}
	// Nothing of REST is shadowed, nothing outside is read, and what is missing is no page.
	for _, path := range []string{"/ws/v1/partitions", "/healthz", "/outside", "/assets/missing.json", "/assets",
		"/assets/", "/assets/../../secret", "/%2e%2e/secret"} {
		assert.Equal(t, ask(t, h, http.MethodGet, path).StatusCode, http.StatusTeapot, path)
	}
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("new build"), 0o644))
	assert.Equal(t, bodyOf(t, ask(t, h, http.MethodGet, "/")), "new build")
}

func TestDirectory_NeedsAPage(t *testing.T) {
	_, err := Directory(filepath.Join(t.TempDir(), "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Directory(buildOf(t, map[string]string{"main.js": ""}))
	assert.ErrorContains(t, err, "has no index.html: it is not the build of a page")
	_, err = Directory(filepath.Join(buildOf(t, map[string]string{"file": ""}), "file"))
	assert.Assert(t, err != nil)
}

// Whatever the path is, it is a file of the page or a matter of REST, and never a panic.
func FuzzMount(f *testing.F) {
	for _, path := range []string{"/", "/js/main.js", "/../x", "/ws/v1/live", "/%00", "//host/"} {
		f.Add(path)
	}
	dir := f.TempDir()
	assert.NilError(f, os.WriteFile(filepath.Join(dir, "index.html"), []byte("page"), 0o644))
	assert.NilError(f, os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("secret"), 0o644))
	site, err := Directory(dir)
	assert.NilError(f, err)
	f.Cleanup(func() { _ = site.Close() })
	handlers := []http.Handler{Mount(Embedded(ReadOnly), rest), Mount(site, rest)}
	f.Fuzz(func(t *testing.T, path string) {
		for _, h := range handlers {
			r := ask(t, h, http.MethodGet, path)
			text := bodyOf(t, r)
			reserved := strings.HasPrefix(strings.ToLower(path), "/ws/") || strings.HasPrefix(path, "/metrics")
			if reserved && r.StatusCode != http.StatusTeapot || strings.Contains(text, "secret") &&
				r.StatusCode == http.StatusOK {
				t.Fatalf("%q has status %d", path, r.StatusCode)
			}
		}
	})
}
