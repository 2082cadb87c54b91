package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// httpFlags bound the resources that readers over HTTP may use.
type httpFlags struct{ canopy.HTTP }

func (f *httpFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.MaxConnections, "http-max-connections", httpserver.DefaultConnections,
		"open HTTP connections; a further one closes an idle one, "+
			"or has status 503 (/healthz and /readyz are still answered)")
	flags.IntVar(&f.MaxLargeAnswers, "http-max-large-answers", httpserver.DefaultLargeAnswers,
		"answers of more than 64 KiB that are written at the same time; others wait up to 5s, then have status 503")
	flags.DurationVar(&f.StallTimeout, "http-stall-timeout", httpserver.DefaultStall,
		"close the connection of an HTTP client that does not read 64 KiB of its answer in this time")
	flags.StringArrayVar(&f.AllowedOrigins, "http-cors-origin", nil,
		"let web pages of this origin, such as https://page.example.org, read REST in a browser, or of all (*); may be "+
			"repeated")
	flags.StringArrayVar(&f.HostNames, "http-host", nil,
		"a further name of this server, such as that of a proxy or a service in front of it, or * for any; REST is refused "+
			"for "+
			"other names than localhost and that of --http-address; may be repeated")
	flags.IntVar(&f.MaxLiveStreams, "http-max-live-streams", webservice.DefaultLiveStreams,
		"open pages that are told of changes at once; the others ask every few seconds")
	flags.StringVar(&f.WebRoot, "web-root", "",
		"`DIR` with another page, such as a build of yunikorn-web, that is served at / in place of Canopy's")
}

// check reports invalid limits (OBS-87).
func (f *httpFlags) check() error {
	var wrong []error
	if f.StallTimeout < time.Second {
		wrong = append(wrong, fmt.Errorf("--http-stall-timeout is %v, and must be 1s or more", f.StallTimeout))
	}
	return errors.Join(wrong...)
}
