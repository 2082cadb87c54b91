package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The metrics and the probes of a shim that schedules.
func TestMetrics_AreServed(t *testing.T) {
	f := start(t, testNode("n1", nil))
	f.create(testPod("large", "5", nil), testPod("small", "1", nil))
	f.untilPlaced(1)
	f.untilCondition("large", "Unschedulable", "")
	get := func(path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		assert.NilError(t, err)
		answer := httptest.NewRecorder()
		f.metrics.handler().ServeHTTP(answer, request)
		return answer.Code, answer.Body.String()
	}
	f.until(func() error {
		_, text := get("/metrics")
		for _, line := range []string{"canopy_shim_sessions_total 1", `canopy_shim_pods{state="asked"} 1`,
			`canopy_shim_pods{state="reported"} 1`, `canopy_shim_api_calls_total{call="bind",outcome="ok"} 1`,
			`canopy_shim_api_calls_total{call="status",outcome="ok"} `, "canopy_shim_binding_seconds_count 1"} {
			if !strings.Contains(text, line) {
				return fmt.Errorf("no %s in\n%s", line, text)
			}
		}
		return nil
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		code, text := get(path)
		assert.Equal(t, code, http.StatusOK, text)
	}
	f.killServer()
	f.until(func() error {
		if code, _ := get("/readyz"); code != http.StatusServiceUnavailable {
			return fmt.Errorf("status %d", code)
		}
		return nil
	})
}
