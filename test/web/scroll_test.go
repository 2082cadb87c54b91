package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// largeTree is a configuration with more than n queues: 20 tenants, their teams, and leaves.
func largeTree(n int) string {
	var b strings.Builder
	b.WriteString("partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: '*'\n        " +
		"queues:\n")
	perTenant := n / 20
	for tenant := range 20 {
		fmt.Fprintf(&b, "          - name: tenant-%02d\n            queues:\n", tenant)
		for team := range 10 {
			fmt.Fprintf(&b,
				"              - name: team-%02d\n                resources: {guaranteed: {vcore: 10}, max: {vcore: 100}}\n      "+
					"          queues:\n", team)
			for leaf := range perTenant / 10 {
				fmt.Fprintf(&b, "                  - name: leaf-%03d\n", leaf)
			}
		}
	}
	return b.String()
}

// scroll scrolls through the whole list in 90 frames, and returns the durations of the frames in milliseconds, the
// most rows that were in the page, and the most rows that were added between two frames.
const scroll = `new Promise((done) => {
  const list = document.querySelector('.vlist');
  const most = list.scrollHeight - list.clientHeight;
  const frames = [];
  let last, rows = 0, added = 0, mostAdded = 0;
  const changes = new MutationObserver((list) => { for (const c of list) added += c.addedNodes.length; });
  changes.observe(list.firstElementChild, { childList: true });
  const step = (now) => {
    if (last !== undefined) frames.push(now - last);
    last = now;
    mostAdded = Math.max(mostAdded, added);
    added = 0;
    rows = Math.max(rows, list.querySelectorAll('.vrow').length);
    const part = frames.length / 90;
    if (part > 1) {
      frames.sort((a, b) => a - b);
      return done({ frames, rows, added: mostAdded, top: list.scrollTop, most });
    }
    list.scrollTop = most * part;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`

// Ten thousand queues scroll smoothly: the page draws the rows that are seen, whatever the length of the list.
func TestQueues_TenThousandScroll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	if err := os.WriteFile(file, []byte(largeTree(10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--config", file)
	p := openPage(t, s.http)
	p.open("queues", ".vrow")
	p.run(chromedp.Click(`//button[text()="Open all"]`, chromedp.BySearch))
	p.until("all rows", `Number(document.querySelector('.vlist').getAttribute('aria-rowcount')) > 10000`)
	type result struct {
		Frames    []float64
		Rows      int
		Added     int
		Top, Most float64
	}
	got := eval[result](p, scroll)
	median, late := got.Frames[len(got.Frames)/2], got.Frames[len(got.Frames)*95/100]
	t.Logf("%d frames: median %.1f ms, 95 %% within %.1f ms; %d rows in the page, %d drawn in a frame", len(got.Frames),
		median, late, got.Rows, got.Added)
	if got.Top < got.Most-50 {
		t.Errorf("it scrolled to %v of %v", got.Top, got.Most)
	}
	// What a frame costs is what it draws. Its duration is that of the machine, which draws by software and may be
	// busy: an idle one takes 16.7 ms, a frame of the screen.
	if got.Rows > 60 || got.Added > 60 {
		t.Errorf("%d rows are in the page, and %d were drawn in a frame", got.Rows, got.Added)
	}
	if median > 100 {
		t.Errorf("a frame takes %.1f ms", median)
	}
}
