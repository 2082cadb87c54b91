package webservice

// routeMetrics serves the metrics on the path of YuniKorn and on the default path of Prometheus
// (OBS-60). Options.Metrics compresses the answer itself; compressing it again here would make it
// unreadable (OBS-65).
func (s *service) routeMetrics(mux *router) {
	if s.opt.Metrics == nil {
		return
	}
	for _, path := range []string{"/ws/v1/metrics", "/metrics"} {
		mux.HandleFunc("GET "+path, s.opt.Metrics.ServeHTTP)
	}
}
