package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPage runs what a user does against one demo, each in a page of its own.
func TestPage(t *testing.T) {
	s := busyDemo(t)
	for _, c := range []struct {
		name string
		test func(t *testing.T, s server)
	}{
		{"the tree expands and collapses by mouse and keyboard", testTree},
		{"a waiting ask has its reason", testReason},
		{"a difference of configurations is displayed", testDiff},
		{"a plan says what a new configuration would change", testPlan},
		{"a configuration is rolled back where changes are possible", testRollback},
		{"the theme follows the system, and can be switched", testTheme},
		{"the search finds queues, nodes and asks", testSearch},
		{"addresses carry the state", testAddresses},
		{"the page is live", testLive},
		{"without a stream the page asks again", testPolling},
		{"unknown names say so", testUnknown},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

const queueRow = `.vrow[data-queue="%s"]`

func rowOf(queue string) string { return fmt.Sprintf(queueRow, queue) }

func testTree(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("queues", ".vrow")
	p.run(
		chromedp.Click(`//button[text()="Close all"]`, chromedp.BySearch),
		chromedp.WaitNotPresent(rowOf("root.ci.builds"), chromedp.ByQuery),
		chromedp.Click(rowOf("root")+" .twist", chromedp.ByQuery),
		chromedp.WaitNotPresent(rowOf("root.ci"), chromedp.ByQuery),
		chromedp.Click(rowOf("root")+" .twist", chromedp.ByQuery),
		chromedp.WaitVisible(rowOf("root.ci"), chromedp.ByQuery),
		// by keyboard: down from root to ci, right to open it, down to its first queue, Enter for details
		chromedp.Focus(".vlist", chromedp.ByQuery),
		chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.WaitVisible(rowOf("root.ci.builds"), chromedp.ByQuery),
		chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(`.panel[aria-label="Queue root.ci.builds"]`, chromedp.ByQuery),
	)
	if got := eval[string](p,
		`document.querySelector('[role=treegrid]').getAttribute('aria-activedescendant') !== null && `+
			`document.querySelector('.vrow.active').dataset.queue`); got != "root.ci.builds" {
		t.Errorf("the active row is that of %q", got)
	}
	if got := eval[string](p, `document.querySelector('.vrow.active').getAttribute('aria-level')`); got != "3" {
		t.Errorf("the level of root.ci.builds is %q", got)
	}
	p.run(chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(".panel", chromedp.ByQuery))
	p.until("the focus is in the list again", `document.activeElement.matches('.vlist')`)
	p.run(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft),
		chromedp.WaitNotPresent(rowOf("root.ci.builds"), chromedp.ByQuery))
}

func testReason(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("asks", ".vrow")
	p.until("the reason in the list",
		`document.querySelector('[data-ask="import-2019-1"] .reason')?.textContent.includes('no schedulable node has more `+
			`than vcore 64')`)
	p.run(chromedp.Click(`[data-ask="import-2019-1"] a.strong`, chromedp.ByQuery),
		chromedp.WaitVisible("#reason", chromedp.ByQuery))
	p.until("the verdict",
		`document.querySelector('#reason').textContent.startsWith('it can never run as things are: no schedulable node has `+
			`more than vcore 64')`)
	p.until("when it is expected to start",
		`/expected/i.test(document.querySelector('#expected-start')?.textContent ?? '')`)
	p.until("the table of headrooms",
		`[...document.querySelectorAll('#headroom tbody tr')].some((r) => r.textContent.startsWith('CPU96'))`)
	p.until("the smallest change",
		`[...document.querySelectorAll('#changes .change')].some((c) => /add a node with memory 128Gi, 1 pod, vcore `+
			`96/.test(c.textContent))`)
	p.until("every gate, the closed ones first",
		`document.querySelectorAll('.gate').length > 3 && document.querySelector('.gate strong, .gate .strong') !== null`)
	p.until("the selection order", `document.querySelectorAll('#order tbody tr').length > 0`)
}

func testDiff(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("config?generation=3", "#diff")
	p.until("the removed line",
		`[...document.querySelectorAll('#diff .del')].some((l) => l.textContent.includes('max: {vcore: 200}'))`)
	p.until("the added lines",
		`[...document.querySelectorAll('#diff .add')].filter((l) => l.textContent.includes('releases') || `+
			`l.textContent.includes('max: {vcore: 240}')).length === 2`)
	p.until("the change of effective values",
		`document.querySelector('.changes-list').textContent.includes('max vcore: 200 → 240')`)
	if n := eval[int](p, `document.querySelectorAll('#rollback').length`); n != 0 {
		t.Error("the address without changes offers a roll-back")
	}
}

// propose puts a text in place of another one in the proposed configuration.
func propose(p *page, old, with string) {
	p.run(chromedp.Evaluate(fmt.Sprintf(`{ const at = document.querySelector('#proposal'); at.value = `+
		`at.value.replace(%q, %q); at.dispatchEvent(new Event('input', { bubbles: true })); }`, old, with), nil),
		chromedp.Click("#make-plan", chromedp.ByQuery))
}

func testPlan(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("config?tab=plan", "#proposal")
	propose(p, "max: {vcore: 520}", "max: {vcore: 64}")
	p.until("what is above its new max",
		`document.querySelector('#plan')?.textContent.includes('root.ci is above its new max')`)
	p.until("the difference", `document.querySelector('#diff .add')?.textContent.includes('max: {vcore: 64}')`)
	p.expect("status of 400")
	propose(p, "max: {vcore: 64}", "max: {vcore: many}")
	p.until("the position of a mistake",
		`/\d+:\d+/.test(document.querySelector('.notice.bad + .small code')?.textContent)`)
}

func testRollback(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.open("config?generation=2", "#rollback")
	p.run(chromedp.Click("#rollback", chromedp.ByQuery), chromedp.WaitVisible("dialog", chromedp.ByQuery),
		chromedp.Click("dialog .primary", chromedp.ByQuery))
	p.until("the new generation",
		`document.querySelector('.page-head .sub')?.textContent.includes('is in force') && `+
			`document.querySelector('[role=status].notice')?.textContent.includes('the text of 2')`)
	var history []struct {
		Source string `json:"source"`
	}
	s.get(t, "/ws/v1/config/history", &history)
	if history[0].Source != "rollback" {
		t.Errorf("the history is %v", history)
	}
}

const background = `getComputedStyle(document.body).backgroundColor`

func testTheme(t *testing.T, s server) {
	p := openPage(t, s.http)
	scheme := func(name string) chromedp.Action {
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: name}})
	}
	p.run(scheme("light"))
	p.open("overview", ".tiles")
	light := eval[string](p, background)
	p.run(scheme("dark"))
	dark := eval[string](p, background)
	if light == dark {
		t.Errorf("the background is %s in light and dark", light)
	}
	// from auto over dark to light
	p.run(chromedp.Click("#theme", chromedp.ByQuery), chromedp.Click("#theme", chromedp.ByQuery))
	p.until("the chosen theme", fmt.Sprintf("%s === %q", background, light))
	p.open("queues", ".vrow")
	p.until("the chosen theme after another visit", fmt.Sprintf("%s === %q", background, light))
}

func testSearch(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("overview", ".tiles")
	for _, c := range []struct{ text, want string }{
		{"root.retail.shop", `document.querySelector('.panel')?.getAttribute('aria-label') === 'Queue root.retail.shop'`},
		{"node-11", `document.querySelector('.panel')?.getAttribute('aria-label') === 'Node node-11'`},
		{"import-2019", `document.querySelector('h1')?.textContent === 'import-2019'`},
	} {
		p.expect("status of 404") // the search asks for an application, a node and an ask of the name
		p.run(chromedp.KeyEvent("/"))
		p.until("the focus in the search", `document.activeElement.id === 'search'`)
		p.run(chromedp.Evaluate(`document.querySelector('#search').value = ''`, nil),
			chromedp.SendKeys("#search", c.text+kb.Enter, chromedp.ByQuery))
		p.until(c.text+" is found", c.want)
	}
}

func testAddresses(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("queues?q=analytics&res=memory&queue=root.retail", ".panel")
	p.until("the filter",
		`[...document.querySelectorAll('.vrow')].every((r) => r.dataset.queue === 'root' || `+
			`r.dataset.queue.startsWith('root.retail'))`)
	p.until("the resource",
		`document.querySelector('.vhead').textContent.includes('Memory') && `+
			`!document.querySelector('.vhead').textContent.includes('CPU')`)
	p.run(chromedp.Click(rowOf("root.retail.analytics"), chromedp.ByQuery))
	p.until("the selected queue in the address", `location.hash.includes('queue=root.retail.analytics')`)
	p.run(chromedp.KeyEvent("g"), chromedp.KeyEvent("n"), chromedp.WaitVisible(".cell", chromedp.ByQuery),
		chromedp.NavigateBack(), chromedp.WaitVisible(".panel", chromedp.ByQuery))
	p.until("the queue after going back",
		`document.querySelector('.panel').getAttribute('aria-label') === 'Queue root.retail.analytics'`)
}

func testLive(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open("overview", ".tiles")
	p.until("a stream of changes", `document.querySelector('.live').textContent === 'Live'`)
	before := eval[string](p, `document.querySelector('.tiles').textContent`)
	p.until("a change without a reload", fmt.Sprintf(`document.querySelector('.tiles').textContent !== %q`, before))
}

func testPolling(t *testing.T, _ server) {
	s := startServer(t, "--demo", "--http-max-live-streams", "1")
	held, err := http.Get(s.http + "/ws/v1/live")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Body.Close()
	p := openPage(t, s.http)
	p.expect("status of 503")
	p.open("overview", ".tiles")
	p.until("the page says that it asks", `document.querySelector('.live').textContent === 'Every 5 s'`)
	before := eval[string](p, `document.querySelector('.tiles').textContent`)
	p.until("a change", fmt.Sprintf(`document.querySelector('.tiles').textContent !== %q`, before))
}

func testUnknown(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.expect("status of 404")
	for _, route := range []string{"application?app=nothing", "ask?key=a/b%25", "preemptions?number=999999",
		"overview?partition=none"} {
		p.open(route, ".state h2")
	}
	p.open("nonsense", ".tiles")
	if text := eval[string](p, `document.title`); !strings.HasPrefix(text, "Overview") {
		t.Errorf("an unknown view has the title %q", text)
	}
}
