package web

import (
	"os"
	"strings"
	"testing"
)

// The dashboard of an unchanged build of yunikorn-web shows a cluster, with its calls answered by Canopy. Without
// YUNIKORN_WEB, which `make test-yunikorn-web` demands, a page in testdata stands in, which makes the same calls.
func TestYunikornWeb_ShowsTheDashboard(t *testing.T) {
	dir := os.Getenv("YUNIKORN_WEB")
	standIn := dir == ""
	if standIn {
		dir = "testdata/yunikorn_web"
	}
	s := startServer(t, "--demo", "--web-root", dir)
	p := openPage(t, s.http)
	for _, c := range []struct{ route, text string }{
		{"dashboard", "kubernetes"}, {"queues", "root"}, {"applications", "Applications"}, {"nodes", "node-01"},
		{"status", "Partitions answer"},
	} {
		p.open(c.route, "app-root")
		p.until(c.text+" in "+c.route, `document.body.textContent.includes("`+c.text+`") || location.hash === "#/error"`)
		if at := eval[string](p, "location.hash"); strings.HasPrefix(at, "#/error") {
			t.Errorf("%s leads to %s: %s", c.route, at, strings.TrimSpace(eval[string](p, "document.body.innerText")))
		}
	}
	if color := eval[string](p, `getComputedStyle(document.querySelector("app-root")).color`); standIn &&
		color != "rgb(1, 2, 3)" {
		t.Errorf("a style sheet that a handler in the markup switches on, as builds of Angular have it, is not in force: %s",
			color)
	}
}
