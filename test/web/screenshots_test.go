package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// screenshotsDir gets a picture of each view, for a person to look at.
const screenshotsDir = "screenshots"

// Every view can be drawn, in light and dark, wide and narrow, without an error.
func TestViews_AreDrawn(t *testing.T) {
	s := busyDemo(t)
	p := openPage(t, s.http)
	if err := os.MkdirAll(screenshotsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	views := demoViews(t, s)
	for _, c := range []struct {
		name, scheme  string
		width, height int64
	}{{"wide", "light", 1440, 900}, {"wide", "dark", 1440, 900}, {"narrow", "light", 390, 844}} {
		p.emulate(c.scheme, c.width, c.height)
		for _, v := range views {
			p.open(v.route, v.selector)
			p.run(chromedp.Sleep(300 * time.Millisecond)) // reasons of asks come one by one
			if overflow := eval[float64](p, `document.documentElement.scrollWidth - innerWidth`); overflow > 0 {
				t.Errorf("%s, %s: the page is %v px wider than the window", v.name, c.name, overflow)
			}
			var picture []byte
			p.run(chromedp.CaptureScreenshot(&picture))
			name := filepath.Join(screenshotsDir, fmt.Sprintf("%s-%s-%s.png", v.name, c.name, c.scheme))
			if err := os.WriteFile(name, picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// view is a view with the selector of what it shows when it has been drawn.
type view struct{ name, route, selector string }

func demoViews(t *testing.T, s server) []view {
	t.Helper()
	var preemptions struct {
		Preemptions []struct {
			Number int `json:"number"`
		} `json:"preemptions"`
	}
	s.get(t, "/ws/v1/partition/default/preemptions", &preemptions)
	var apps []struct {
		ID          string `json:"applicationID"`
		Allocations []any  `json:"allocations"`
		Requests    []any  `json:"requests"`
	}
	s.get(t, "/ws/v1/partition/default/applications/active", &apps)
	best := apps[0]
	for _, a := range apps {
		if min(len(a.Allocations), 10)+min(2*len(a.Requests), 10) > min(len(best.Allocations), 10)+min(2*len(best.Requests),
			10) {
			best = a
		}
	}
	return []view{
		{"overview", "overview", ".tiles"},
		{"queues", "queues", ".vrow"},
		{"queue", "queues?queue=root.retail.analytics.reports", ".panel"},
		{"asks", "asks", ".vrow"},
		{"ask", "ask?key=import-2019-1", "#reason"},
		{"applications", "applications", ".vrow"},
		{"application", "application?app=" + best.ID, ".gantt"},
		{"nodes", "nodes", ".cell"},
		{"node", "nodes?node=gpu-03&cpu=16&mem=32", ".panel"},
		{"users", "users", ".t"},
		{"preemptions", "preemptions", ".t"},
		{"preemption", fmt.Sprintf("preemptions?number=%d", preemptions.Preemptions[0].Number), ".pre-flow"},
		{"events", "events", ".vrow"},
		{"config", "config", "#diff"},
		{"plan", "config?tab=plan", "#proposal"},
		{"health", "health", ".check"},
	}
}
