package webservice

import "net/http"

// routeMetrics serves what Prometheus scrapes, where upstream has it and where Prometheus looks
// if nobody says otherwise. The answer is packed there if at all, and not once more here: a
// body that is packed twice cannot be read (behaviour.md 11.6).
func (s *service) routeMetrics(mux *router) {
	if s.opt.Metrics == nil {
		return
	}
	for _, path := range []string{"/ws/v1/metrics", "/metrics"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if !s.sameOriginOnly {
				allowOrigins(w.Header())
			}
			s.opt.Metrics.ServeHTTP(w, r)
		})
		mux.HandleFunc("OPTIONS "+path, s.options)
	}
}
