package metrics

// SetHealthSource sets what says whether /healthz answers 200, from memory. It must be called before the first scrape.
func (m *Metrics) SetHealthSource(healthy func() bool) { m.healthy = healthy }

var healthy = gauge("canopy_healthy",
	"1 if /healthz answers 200: every partition makes progress, and the last audits found consistent accounting.")

// writeHealth writes the family of health (OBS-47).
func (s *scrape) writeHealth(to *exposition) {
	if s.m.healthy != nil {
		to.flag(healthy, s.m.healthy())
	}
}
