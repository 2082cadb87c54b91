package webui

import (
	"net/http"
	"path"
	"strings"
)

// Site is the files of a page.
type Site interface {
	// file is the file at a clean path without a leading slash; ok is false if there is none.
	file(name string) (f file, ok bool)
	// policy is the Content-Security-Policy of its files.
	policy() string
}

// file is one file that can be served.
type file interface {
	// serve answers a GET or HEAD request.
	serve(w http.ResponseWriter, r *http.Request)
}

// indexFile is the file at the path /.
const indexFile = "index.html"

// restPrefixes are the paths that no page may have (WEB-2).
var restPrefixes = []string{"ws", "healthz", "readyz", "metrics", "debug"}

// Mount serves the files of a page, and everything else by rest (WEB-2). A path of the page that no file has
// is answered by rest, too: with 404, and never with the page.
func Mount(site Site, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			rest.ServeHTTP(w, r)
			return
		}
		name, ok := fileName(r.URL.Path)
		if !ok {
			rest.ServeHTTP(w, r)
			return
		}
		f, ok := site.file(name)
		if !ok {
			rest.ServeHTTP(w, r)
			return
		}
		setHeaders(w.Header(), site.policy())
		f.serve(w, r)
	})
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
