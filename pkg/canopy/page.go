package canopy

import (
	"io"

	"github.com/canopy-scheduler/canopy/internal/server/webui"
)

// page is the page that is served beside REST: the embedded one, or the files of HTTP.WebRoot.
type page struct {
	site  webui.Site
	files io.Closer // nil: it is embedded
}

// openPage opens the page (WEB-1, WEB-4).
func (o *Options) openPage() (page, error) {
	if o.HTTP.WebRoot == "" {
		return page{site: webui.Embedded(webui.ReadOnly)}, nil
	}
	dir, err := webui.Directory(o.HTTP.WebRoot)
	if err != nil {
		return page{}, o.invalid("HTTP.WebRoot", err)
	}
	return page{dir, dir}, nil
}

func (p page) close() error {
	if p.files == nil {
		return nil
	}
	return p.files.Close()
}
