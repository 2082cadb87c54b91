//go:build prometheus

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

// quietQueries are parts of queries of the dashboard that have no data in a cluster in which nothing goes wrong.
var quietQueries = []string{
	"canopy_preemption_cycles_total", "canopy_preemption_cool_downs", "canopy_message_elements_ignored_total",
	"yunikorn_queue_app_total", // applications of the load do not end
	`state="preempting"`, "canopy_config_generation{instance=~\".*\"}[1m])",
}

// startPrometheus starts Prometheus with the alert rules, scraping a server as docs/SECURITY.md says, and returns the
// base of its URLs.
func startPrometheus(t *testing.T, s *secureFiles, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := l.Addr().String()
	assert.NilError(t, l.Close())
	testcert.Write(t, s.dir, map[string][]byte{"prometheus.yml": fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: canopy
    scheme: https
    authorization: {credentials_file: read.token}
    tls_config: {ca_file: ca.crt}
    static_configs: [{targets: [%q]}]
`, filepath.Join(moduleRoot, "deploy", "prometheus", "canopy-rules.yml"), target)})
	cmd := exec.Command("prometheus", "--config.file", s.file("prometheus.yml"), "--storage.tsdb.path", s.file("data"),
		"--web.listen-address", address)
	var logs lockedBuffer
	cmd.Stderr = &logs
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(logs.String())
		}
	})
	return "http://" + address
}

// dashboard reads the queries of the dashboard, by the titles of their panels, with the variables of all values.
func dashboard(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "deploy", "grafana", "canopy.json"))
	assert.NilError(t, err)
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
		Annotations struct {
			List []struct{ Name, Expr string }
		}
	}
	assert.NilError(t, json.Unmarshal(text, &d))
	out := map[string][]string{}
	add := func(title, query string) {
		query = strings.ReplaceAll(query, "$__rate_interval", "30s")
		query = regexp.MustCompile(`\$\w+`).ReplaceAllString(query, ".*")
		out[title] = append(out[title], query)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			add(p.Title, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Name != "datasource" {
			m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
			assert.Assert(t, m != nil, "%s: %s", v.Name, v.Definition)
			add("variable "+v.Name, "group by ("+m[2]+") ("+m[1]+")")
		}
	}
	for _, a := range d.Annotations.List {
		add("annotation "+a.Name, a.Expr)
	}
	assert.Assert(t, len(out) > 40, "%d", len(out))
	return out
}

// query is the number of series that a query finds now, those without a number left out.
func query(base, expr string) (series int, err error) {
	response, err := http.Get(base + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	for _, r := range answer.Data.Result {
		if r.Value[1] != "NaN" {
			series++
		}
	}
	return series, nil
}

// Every query of the dashboard, and every alert rule, against a real Prometheus that scrapes a server with TLS and
// tokens while a cluster is filled and preempted: make test-prometheus.
func TestPrometheus_DashboardAndRules(t *testing.T) {
	s := newSecureFiles(t)
	p, service := startServing(t, buildProgram(t), append([]string{"--data-dir", s.file("state")}, s.server...)...)
	defer p.stop()
	contested, err := os.ReadFile(filepath.Join(moduleRoot, "examples", "openb-preemption.yaml"))
	assert.NilError(t, err)
	queues := writeTempFile(t, "queues.yaml", string(contested)+"            resources: {guaranteed: {vcore: 100}}\n")
	base := startPrometheus(t, s, strings.TrimPrefix(service.http, "http://"))

	load := exec.Command(buildOther(t, "cmd/lab"), "replay", "--nodes", "../../internal/lab/sim/testdata/nodes.csv",
		"--pods", "../../internal/lab/sim/testdata/pods.csv", "--nodes-percent", "50", "--order", "qos", "--priority-from",
		"qos", "--queue", "root.shared", "--config", queues, "--address", service.conn.Target(), "--ca-cert",
		s.file("ca.crt"), "--token-file", s.file("submit.token"))
	var loadOutput lockedBuffer
	load.Stderr = &loadOutput
	assert.NilError(t, load.Start())
	defer func() {
		_ = load.Process.Kill() // it waits for preemption in real time
		_ = load.Wait()
		if t.Failed() {
			t.Log(loadOutput.String())
		}
	}()

	panels := dashboard(t)
	var empty []string
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		empty = nil
		for title, queries := range panels {
			for _, expr := range queries {
				n, err := query(base, expr)
				switch {
				case err != nil && strings.Contains(err.Error(), "connection refused"):
					return poll.Continue("Prometheus has not started")
				case err != nil:
					return poll.Error(fmt.Errorf("%s: %w", title, err))
				case n == 0 && !slices.ContainsFunc(quietQueries, func(q string) bool { return strings.Contains(expr, q) }):
					empty = append(empty, title+": "+expr)
				}
			}
		}
		if len(empty) > 0 {
			return poll.Continue("%d queries have no data: %s", len(empty), strings.Join(empty, "\n"))
		}
		return poll.Success()
	}, poll.WithTimeout(90*time.Second), poll.WithDelay(time.Second))

	for _, q := range quietQueries {
		used := false
		for _, queries := range panels {
			used = used || slices.ContainsFunc(queries, func(expr string) bool { return strings.Contains(expr, q) })
		}
		assert.Assert(t, used, "no query has %s", q)
	}
	checkRules(t, base)
}

// checkRules sees that each rule is evaluated, and that the target is scraped.
func checkRules(t *testing.T, base string) {
	t.Helper()
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	response, err := http.Get(base + "/api/v1/rules")
	assert.NilError(t, err)
	defer response.Body.Close()
	assert.NilError(t, json.NewDecoder(response.Body).Decode(&rules))
	assert.Equal(t, len(rules.Data.Groups), 1)
	text, err := os.ReadFile(filepath.Join(moduleRoot, "deploy", "prometheus", "canopy-rules.yml"))
	assert.NilError(t, err)
	assert.Equal(t, len(rules.Data.Groups[0].Rules), bytes.Count(text, []byte("- alert: ")))
	for _, r := range rules.Data.Groups[0].Rules {
		assert.Equal(t, r.Health, "ok", "%s: %s", r.Name, r.LastError)
	}
	n, err := query(base, `up{job="canopy"} == 1`)
	assert.NilError(t, err)
	assert.Equal(t, n, 1)
}
