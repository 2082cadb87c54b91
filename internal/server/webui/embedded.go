package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

// static are the files of the page. They are served as they are: there is no build step.
//
//go:embed static
var static embed.FS

// embeddedPolicy lets the page load files of its own origin only, and nothing inline. Colours of an icon in
// the page are data URLs.
const embeddedPolicy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action " +
	"'none'; frame-ancestors 'none'"

// adminMark is the place in index.html that says whether changes are possible at this address.
const adminMark = `name="canopy-admin" content="no"`

// embedded is the page of this package.
type embedded map[string]*embeddedFile

// embeddedFile is a file in memory.
type embeddedFile struct {
	kind         string // the content type
	text, gzip   []byte // gzip is nil if it is not shorter
	etag, gzETag string
}

// Changes says whether the page offers requests that change the scheduler.
type Changes bool

// Where the page is served.
const (
	ReadOnly    Changes = false // beside requests that only read
	WithChanges Changes = true  // beside requests that change the scheduler, too
)

// Embedded is the page of this package.
func Embedded(changes Changes) Site {
	site := embedded{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		name = strings.TrimPrefix(name, "static/")
		if changes == WithChanges && name == indexFile {
			text = bytes.Replace(text, []byte(adminMark), []byte(`name="canopy-admin" content="yes"`), 1)
		}
		site[name] = newEmbeddedFile(name, text)
		return err
	})
	if err != nil {
		panic("webui: " + err.Error()) // the files are in the program
	}
	return site
}

func newEmbeddedFile(name string, text []byte) *embeddedFile {
	sum := sha256.Sum256(text)
	tag := hex.EncodeToString(sum[:8])
	f := &embeddedFile{kind: contentType(name), text: text, etag: `"` + tag + `"`, gzETag: `"` + tag + `-gzip"`}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("webui: " + err.Error()) // a write to a buffer does not fail
	}
	if packed.Len() < len(text) {
		f.gzip = packed.Bytes()
	}
	return f
}

func (s embedded) file(name string) (file, bool) {
	f, ok := s[name]
	return f, ok
}

func (embedded) policy() string { return embeddedPolicy }

// serve answers with the file, or 304 if the client has it (WEB-3).
func (f *embeddedFile) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	text, tag := f.text, f.etag
	h.Add("Vary", "Accept-Encoding")
	packed := f.gzip != nil && httpserver.AcceptsGzip(r)
	if packed {
		text, tag = f.gzip, f.gzETag
	}
	h.Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // the client may be gone
	}
}

// matches reports whether an If-None-Match header has a tag, or a star.
func matches(header, tag string) bool {
	for _, one := range strings.Split(header, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}
