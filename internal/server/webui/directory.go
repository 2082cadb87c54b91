package webui

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
)

// directoryPolicy keeps another page within its origin. Such builds have inline styles and scripts, so those
// are allowed.
const directoryPolicy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; " +
	"frame-ancestors 'none'"

// DirectorySite is the files of another build of a page.
type DirectorySite struct {
	root *os.Root
}

// Directory is another page: the files below dir, which must have an index.html (WEB-4). They are read for
// each request, so a new build needs no restart. The caller must Close it.
func Directory(dir string) (*DirectorySite, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d := &DirectorySite{root}
	if info, err := root.Stat(indexFile); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s has no %s: it is not the build of a page", dir, indexFile), root.Close())
	}
	return d, nil
}

// Close ends the use of the directory.
func (d *DirectorySite) Close() error { return d.root.Close() }

func (*DirectorySite) policy() string { return directoryPolicy }

func (d *DirectorySite) file(name string) (file, bool) {
	if !fs.ValidPath(name) {
		return nil, false
	}
	// Root refuses names and symbolic links that lead out of the directory.
	info, err := d.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	return directoryFile{d.root, name}, true
}

// directoryFile is a file below the directory.
type directoryFile struct {
	root *os.Root
	name string
}

// serve answers with the file, or a part of it, or 304 if the client has it.
func (f directoryFile) serve(w http.ResponseWriter, r *http.Request) {
	open, err := f.root.Open(f.name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer open.Close()
	info, err := open.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(f.name))
	h.Set("ETag", `"`+strconv.FormatInt(info.ModTime().UnixNano(), 36)+"-"+strconv.FormatInt(info.Size(), 36)+`"`)
	http.ServeContent(w, r, path.Base(f.name), info.ModTime(), open)
}
