//go:build yunikornweb

package web

import (
	"os"
	"testing"
)

// The dashboard of an unchanged build of yunikorn-web shows a cluster, with its calls answered by Canopy.
func TestYunikornWeb_ShowsTheDashboard(t *testing.T) {
	dir := os.Getenv("YUNIKORN_WEB")
	if dir == "" {
		t.Fatal("YUNIKORN_WEB must name the directory of a build of yunikorn-web")
	}
	s := startServer(t, "--demo", "--web-root", dir)
	p := openPage(t, s.http)
	for _, c := range []struct{ route, text string }{
		{"dashboard", "kubernetes"}, {"queues", "root"}, {"applications", "Applications"}, {"nodes", "node-01"}, {"status", "Partitions answer"},
	} {
		p.open(c.route, "app-root")
		p.until(c.text+" in "+c.route, `document.body.textContent.includes("`+c.text+`")`)
	}
	if at := eval[string](p, "location.hash"); at == "#/error" {
		t.Error("it shows its error page")
	}
}
