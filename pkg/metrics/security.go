package metrics

import "time"

// Security has the counts of access.
type Security struct {
	Refused            map[string]uint64 // requests and calls, by reason; nil: no credentials are required
	CertificateExpires time.Time         // of the listeners; zero: they have no TLS
}

// SetSecuritySource sets the source of Security. It must be called before the first scrape.
func (m *Metrics) SetSecuritySource(source func() Security) { m.security = source }

var (
	accessRefused = counter("canopy_access_refused_total",
		"Requests and calls that were refused because of their credentials, by reason.", "reason")
	certificateExpires = gauge("canopy_tls_certificate_expires_seconds",
		"Unix time at which the certificate of the listeners expires.")
)

// writeSecurity writes the families of access (SEC-13).
func (s *scrape) writeSecurity(to *gathering) {
	if s.m.security == nil {
		return
	}
	c := s.m.security()
	to.countsByLabel(accessRefused, c.Refused)
	if !c.CertificateExpires.IsZero() {
		to.value(certificateExpires, float64(c.CertificateExpires.Unix()))
	}
}
