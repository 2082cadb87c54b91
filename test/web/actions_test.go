package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	application = "application?app=import-2019"
	actionsDone = `document.querySelector('[role=status]')?.textContent`
)

func button(verb string) string { return `[data-action="` + verb + `"]` }

// press presses a button, when no action is on its way, wherever it is: the demo changes the page above it at any time.
func press(p *page, verb string) {
	p.t.Helper()
	p.until("the button "+verb, `document.querySelector('`+button(verb)+`:not([disabled])')`)
	p.run(chromedp.Evaluate(`document.querySelector('`+button(verb)+`').click()`, nil))
}

// TestActions runs what an operator does on the page of the admin listener, against a demo of its own (OPS-11).
func TestActions(t *testing.T) {
	s := startServer(t, "--demo", "--admin", "--admin-listen", "127.0.0.1:0")
	waitFor(t, "the application of the demo", func() bool {
		var all []struct {
			ID string `json:"applicationID"`
		}
		s.get(t, "/ws/v1/partition/default/applications/active", &all)
		for _, a := range all {
			if a.ID == "import-2019" {
				return true
			}
		}
		return false
	})
	for _, c := range []struct {
		name string
		test func(t *testing.T, s server)
	}{
		{"the address without changes has no buttons", testNoActions},
		{"an application is put on hold by keyboard", testHold},
		{"an application is moved, and a refusal is displayed", testMove},
		{"a node is cordoned, and drained after a question", testNodeActions},
		{"a queue is drained, stopped and started", testQueueActions},
		{"an application is cancelled after a question", testCancel},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func testNoActions(t *testing.T, s server) {
	p := openPage(t, s.http)
	p.open(application, ".facts")
	if n := eval[int](p, `document.querySelectorAll('[data-action]').length`); n != 0 {
		t.Errorf("there are %d buttons", n)
	}
}

func testHold(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.open(application, button("hold"))
	p.run(chromedp.Focus(button("hold"), chromedp.ByQuery), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(button("release"), chromedp.ByQuery))
	p.until("what has come of it", actionsDone+` === 'It is on hold.'`)
	p.until("the mark", `[...document.querySelectorAll('.badge')].some((b) => b.textContent === 'on hold')`)
	press(p, "release")
	p.run(chromedp.WaitVisible(button("hold"), chromedp.ByQuery))
}

func testMove(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.open(application, button("move"))
	p.expect("status of 404")
	to := func(queue string) {
		press(p, "move")
		p.run(chromedp.WaitVisible("dialog input", chromedp.ByQuery))
		p.until("the focus in the dialog", `document.activeElement.matches('dialog input')`)
		p.run(chromedp.SendKeys("dialog input", queue+kb.Enter, chromedp.ByQuery),
			chromedp.WaitNotPresent("dialog", chromedp.ByQuery))
	}
	to("root.nothing")
	p.until("the refusal", `document.querySelector('[role=alert]')?.textContent.includes('unknown queue root.nothing')`)
	to("root.ci.builds")
	p.until("the other queue", `document.querySelector('.crumbs').textContent.includes('root.ci.builds')`)
	p.until("the queue before", `document.querySelector('.facts').textContent.includes('root.genomics.archive')`)
}

func testNodeActions(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.open("nodes?node=node-11", button("cordon"))
	press(p, "cordon")
	p.run(chromedp.WaitVisible(button("uncordon"), chromedp.ByQuery))
	p.until("the state", `document.querySelector('.panel .badge').textContent === 'cordoned'`)
	// Escape answers with no.
	press(p, "drain")
	p.run(chromedp.WaitVisible("dialog", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape),
		chromedp.WaitNotPresent("dialog", chromedp.ByQuery))
	p.until("the state is as before", `document.querySelector('.panel .badge').textContent === 'cordoned'`)
	press(p, "drain")
	p.run(chromedp.WaitVisible("dialog", chromedp.ByQuery), chromedp.Click("dialog .btn.danger", chromedp.ByQuery))
	p.until("the drain",
		`/^drain(ing|ed)/.test(document.querySelector('.panel .badge').textContent) && `+
			`!document.querySelector('[data-action="drain"]')`)
	p.until("that nothing is left", `document.querySelector('.panel .badge').textContent === 'drained'`)
	press(p, "uncordon")
	p.run(chromedp.WaitVisible(button("cordon"), chromedp.ByQuery))
}

func testQueueActions(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.open("queues?queue=root.ci.builds", button("drain"))
	// The status is Draining before the stop, too: only what the page says of it tells that it is done, and start is to
	// come after it.
	for _, c := range []struct{ verb, done string }{{"drain", "It accepts no new applications."},
		{"stop", "It is stopped."}} {
		press(p, c.verb)
		p.run(chromedp.WaitVisible("dialog", chromedp.ByQuery), chromedp.Click("dialog .primary", chromedp.ByQuery))
		p.until(c.verb, actionsDone+` === '`+c.done+`'`)
		p.until("the status", `[...document.querySelectorAll('.panel .badge')].some((b) => b.textContent === 'Draining')`)
	}
	press(p, "start")
	p.run(chromedp.WaitNotPresent(button("start"), chromedp.ByQuery))
	p.until("the status", `[...document.querySelectorAll('.panel .badge')].some((b) => b.textContent === 'Active')`)
}

func testCancel(t *testing.T, s server) {
	p := openPage(t, s.admin)
	p.expect("status of 404") // it has ended, and is in the lists of ended applications only
	p.open(application, button("cancel"))
	press(p, "cancel")
	p.run(chromedp.WaitVisible("dialog", chromedp.ByQuery))
	p.until("the focus on the way back", `document.activeElement.textContent === 'Back'`)
	p.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent("dialog", chromedp.ByQuery))
	press(p, "cancel")
	p.run(chromedp.WaitVisible("dialog", chromedp.ByQuery), chromedp.Click("dialog .btn.danger", chromedp.ByQuery))
	p.until("the end", `[...document.querySelectorAll('.badge')].some((b) => b.textContent === 'Failed')`)
}
