package canopy

import (
	"github.com/canopy-scheduler/canopy/internal/server/webui"
)

// openPage opens the page that is served beside REST (WEB-1, WEB-4): the embedded one, or the files of HTTP.WebRoot.
func (o *Options) openPage() (webui.Site, error) {
	if o.HTTP.WebRoot == "" {
		return webui.Embedded(webui.ReadOnly), nil
	}
	site, err := webui.Directory(o.HTTP.WebRoot)
	if err != nil {
		return site, o.invalid("HTTP.WebRoot", err)
	}
	return site, nil
}
