package webui

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

// static are the files of the page. They are served as they are: there is no build step.
//
//go:embed static
var static embed.FS

// embeddedPolicy lets the page load files of its own origin only, and nothing inline. Colours of an icon in
// the page are data URLs.
const embeddedPolicy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action " +
	"'none'; frame-ancestors 'none'"

// directoryPolicy keeps another page within its origin. Such builds have inline styles and scripts, so those are
// allowed.
const directoryPolicy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; " +
	"frame-ancestors 'none'"

// adminMark is the place in index.html that says whether changes are possible at this address.
const adminMark = `name="canopy-admin" content="no"`

// Changes says whether the page offers requests that change the scheduler.
type Changes bool

// Where the page is served.
const (
	ReadOnly    Changes = false // beside requests that only read
	WithChanges Changes = true  // beside requests that change the scheduler, too
)

// Site is the files of a page.
type Site struct {
	files   fs.FS
	policy  string // the Content-Security-Policy of its files
	changes Changes
	root    *os.Root // of a directory; nil: the files are embedded
}

// Embedded is the page of this package.
func Embedded(changes Changes) Site {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic("webui: " + err.Error()) // the files are in the program
	}
	return Site{files: files, policy: embeddedPolicy, changes: changes}
}

// Directory is the build of another page in a directory, which must have an index.html (WEB-4). Its files are read at
// each request. The caller must Close it.
func Directory(dir string) (Site, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Site{}, err
	}
	// Root refuses names and symbolic links that lead out of the directory.
	if info, err := root.Stat(indexFile); err != nil || !info.Mode().IsRegular() {
		return Site{}, errors.Join(fmt.Errorf("%s has no %s: it is not the build of a page", dir, indexFile), root.Close())
	}
	return Site{files: root.FS(), policy: directoryPolicy, root: root}, nil
}

// Close ends the use of a directory.
func (s Site) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// indexFile is the file at the path /.
const indexFile = "index.html"

// restPrefixes are the paths that no page may have (WEB-2).
var restPrefixes = []string{"ws", "healthz", "readyz", "metrics", "debug"}

// Mount serves the files of a page, and everything else by rest (WEB-2). A path of the page that no file has
// is answered by rest, too: with 404, and never with the page.
func Mount(s Site, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := fileName(r.URL.Path)
		if r.Method != http.MethodGet && r.Method != http.MethodHead || !ok {
			rest.ServeHTTP(w, r)
			return
		}
		file, content, err := s.open(name)
		if err != nil {
			rest.ServeHTTP(w, r)
			return
		}
		defer file.Close()
		setHeaders(w.Header(), s.policy)
		w.Header().Set("Content-Type", contentType(name))
		w.Header().Set("ETag", tagOf(file, content))
		gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, name, time.Time{}, content)
		})).ServeHTTP(w, r)
	})
}

// open opens a regular file. The caller must close it.
func (s Site) open(name string) (file fs.File, content io.ReadSeeker, err error) {
	if file, err = s.files.Open(name); err != nil {
		return nil, nil, err
	}
	content, seeks := file.(io.ReadSeeker) // so do files of embed and os
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || !seeks {
		return nil, nil, errors.Join(fs.ErrNotExist, file.Close())
	}
	if s.changes == WithChanges && name == indexFile {
		text, err := io.ReadAll(file)
		if err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		content = bytes.NewReader(bytes.Replace(text, []byte(adminMark), []byte(`name="canopy-admin" content="yes"`), 1))
	}
	return file, content, nil
}

// tagOf returns the ETag of a file: the time of its last change and its size or, as embedded files have no time, the
// sum of its content. It is weak, since the answer may be compressed.
func tagOf(file fs.File, content io.ReadSeeker) string {
	if info, err := file.Stat(); err == nil && !info.ModTime().IsZero() {
		return fmt.Sprintf(`W/"%x-%x"`, info.ModTime().UnixNano(), info.Size())
	}
	sum := fnv.New64a()
	_, readErr := io.Copy(sum, content)
	if _, err := content.Seek(0, io.SeekStart); err != nil || readErr != nil {
		panic(fmt.Sprint("webui: ", readErr, err)) // the files are in memory
	}
	return fmt.Sprintf(`W/"%x"`, sum.Sum64())
}

// fileName is the name of the file for the path of a request; ok is false for a path of REST, and for one that
// is not clean.
func fileName(urlPath string) (name string, ok bool) {
	name, rooted := strings.CutPrefix(urlPath, "/")
	if !rooted || strings.ContainsAny(name, "\\\x00") {
		return "", false
	}
	if name == "" {
		return indexFile, true
	}
	if path.Clean("/"+name) != "/"+name {
		return "", false
	}
	first, _, _ := strings.Cut(name, "/")
	for _, reserved := range restPrefixes {
		if strings.EqualFold(first, reserved) {
			return "", false
		}
	}
	return name, true
}

// setHeaders sets the headers that all files have (WEB-3). A browser asks each time whether its copy is the
// present one, because a new version of the scheduler has other files at the same paths.
func setHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-cache")
}

// contentTypes are the media types of files by extension: the table of the operating system differs from
// machine to machine.
var contentTypes = map[string]string{
	".html":  "text/html; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".mjs":   "text/javascript; charset=utf-8",
	".json":  "application/json; charset=utf-8",
	".map":   "application/json; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".jpg":   "image/jpeg",
	".gif":   "image/gif",
	".webp":  "image/webp",
	".ico":   "image/x-icon",
	".woff":  "font/woff",
	".woff2": "font/woff2",
	".ttf":   "font/ttf",
	".txt":   "text/plain; charset=utf-8",
	".wasm":  "application/wasm",
}

// contentType is the media type of a file. One that is not known is offered as a download, and not guessed.
func contentType(name string) string {
	if t, ok := contentTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}
