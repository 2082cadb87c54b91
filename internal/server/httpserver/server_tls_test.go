package httpserver

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

// With TLS the limits are those of the connections below it, and an idle one is evicted as well (OBS-82, OBS-83).
func TestServer_LimitsHoldWithTLS(t *testing.T) {
	ca := testcert.NewAuthority(t, "servers")
	issued := ca.Server(t)
	pair, err := tls.X509KeyPair(issued.Cert, issued.Key)
	assert.NilError(t, err)
	counts := new(Counts)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "alive over "+r.Proto)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: Protocols}
	opt := Options{MaxConnections: 2, Liveness: []string{"/healthz"}, Counts: counts, TLS: config}
	withServer(t, handler, opt, func(p *pipeListener) {
		dial := func() net.Conn {
			return tls.Client(p.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		}
		for range 2 {
			c := dial()
			defer c.Close()
			send(t, c, "/busy")
		}
		synctest.Wait()
		late := dial()
		defer late.Close()
		status, body, _ := get(t, late, "/list")
		assert.Equal(t, status, http.StatusServiceUnavailable)
		assert.Equal(t, body, refusalBody)
		probe := dial()
		defer probe.Close()
		status, body, response := get(t, probe, "/healthz")
		assert.Equal(t, status, http.StatusOK)
		assert.Equal(t, body, "alive over HTTP/1.1")
		assert.Equal(t, response.Header.Get("X-Content-Type-Options"), "nosniff")
		assert.Equal(t, counts.Connections.Load(), int64(4))
	})
	assert.Equal(t, counts.Connections.Load(), int64(0))
}
