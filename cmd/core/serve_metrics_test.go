package main

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// In a whole process, the metrics count what a shim registers, asks for and releases.
func TestServe_Metrics(t *testing.T) {
	shim := buildShim(t, "shim-go")
	p, s := startServing(t, buildProgram(t))
	out := runShim(t, shim, s.conn.Target())
	assert.Equal(t, strings.Count(out, "allocated: "), 4, out)
	for _, path := range []string{"/ws/v1/metrics", "/metrics"} {
		code, body := s.get(path)
		assert.Equal(t, code, http.StatusOK)
		for _, want := range []string{
			`yunikorn_scheduler_container_allocation_attempt_total{partition="default",state="allocated"} 4`,
			`yunikorn_scheduler_container_allocation_attempt_total{partition="default",state="released"} 4`,
			`yunikorn_scheduler_application_submission_total{partition="default",result="new"} 1`,
			`canopy_allocations{partition="default"} 0`,
			`canopy_scrape_failures_total{partition="default"} 0`,
			`canopy_decision_run_seconds_count{partition="default"} `,
			"\ngo_goroutines ", "\nprocess_start_time_seconds ",
		} {
			assert.Assert(t, strings.Contains(body, want), "%s\n%s", want, body)
		}
		// The answer is compressed with gzip once, as Prometheus requests it.
		response, err := s.client.Get(s.http + path)
		assert.NilError(t, err)
		assert.NilError(t, response.Body.Close())
		assert.Assert(t, response.Uncompressed, "the client of the test takes gzip by itself")
	}
	code, body := s.get("/ws/v1/events/batch")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.Contains(body, `"EventRecords":[`), "the event history has events as well: %s", body)
	code, body = s.get("/ws/v1/scheduler/healthcheck")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.HasPrefix(body, `{"Healthy":true,"HealthChecks":[{"Name":"Partitions answer"`), body)
	p.stop()
}

// The metrics of the configuration are those of the running process (OBS-89).
func TestServe_MetricsOfTheConfiguration(t *testing.T) {
	p, s := startServing(t, buildProgram(t), "--data-dir", t.TempDir(), "--admin", "--admin-listen", "127.0.0.1:0")
	code, body := s.post("/ws/v1/config", "application/yaml", twoLeaves)
	assert.Equal(t, code, http.StatusOK, body)
	code, _ = s.post("/ws/v1/config", "application/yaml", "partitions: 7")
	assert.Equal(t, code, http.StatusBadRequest)
	_, body = s.get("/metrics")
	for _, want := range []string{
		"\ncanopy_config_generation 2\n", "\ncanopy_config_stored 1\n",
		`canopy_config_rejections_total{source="rest"} 1` + "\n",
		`canopy_config_rejections_total{source="file"} 0` + "\n",
	} {
		assert.Assert(t, strings.Contains(body, want), "%s\n%s", want, body)
	}
	p.stop()
}
