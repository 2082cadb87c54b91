package httpserver

import (
	"net/http"
	"strconv"
	"strings"
)

// AcceptsGzip reports whether Accept-Encoding has gzip with a weight above 0 (OBS-15).
func AcceptsGzip(r *http.Request) bool {
	for _, coding := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight, found := strings.CutPrefix(strings.TrimSpace(quality), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !found || err != nil || q > 0
	}
	return false
}
