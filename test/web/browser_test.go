package web

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserTimeout bounds one test with a browser.
const browserTimeout = 2 * time.Minute

// stepTimeout bounds what a test does in one step.
const stepTimeout = 20 * time.Second

// page is a page in a browser.
type page struct {
	t      *testing.T
	ctx    context.Context
	origin string
	visits int

	mu       sync.Mutex
	problems []string // console errors, exceptions, and requests that leave the origin
	expected []string // parts of problems that the test causes itself
}

// openPage opens a page of a server in a new browser. What goes wrong in the browser fails the test at its end.
func openPage(t *testing.T, origin string) *page {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: run this with make test-web")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.WindowSize(1440, 900), chromedp.Flag("hide-scrollbars", false))
	ctx, cancel := context.WithTimeout(context.Background(), browserTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	// it reports events that it does not know
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	// a server without the list of asks is asked for it once
	p := &page{t: t, ctx: ctx, origin: origin, expected: []string{"/partition/default/asks?"}}
	chromedp.ListenTarget(ctx, p.onEvent)
	// the first one starts the browser, which lives as long as its context
	if err := chromedp.Run(ctx, network.Enable(), log.Enable()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Error(problem)
		}
	})
	return p
}

func (p *page) onEvent(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			p.problem("the console has an error: %s", arguments(e.Args))
		}
	case *runtime.EventExceptionThrown:
		p.problem("exception: %s", e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			p.problem("the console has an error: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		to, err := url.Parse(e.Request.URL)
		if err != nil || to.Scheme != "data" && to.Scheme+"://"+to.Host != p.origin {
			p.problem("a request leaves the origin: %s", e.Request.URL)
		}
	}
}

func arguments(all []*runtime.RemoteObject) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%s%s ", a.Value, a.Description)
	}
	return b.String()
}

func (p *page) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	for _, part := range p.expected {
		if strings.Contains(text, part) {
			return
		}
	}
	p.problems = append(p.problems, text)
}

// expect says that a problem with this part belongs to the test.
func (p *page) expect(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, part)
}

// run takes one step after the other.
func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	for i, a := range actions {
		ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
		err := chromedp.Run(ctx, a)
		cancel()
		if err != nil {
			p.t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// open opens a view by its address after #, and waits for a selector.
func (p *page) open(route, selector string) {
	p.t.Helper()
	p.visits++ // another address, so that the page is loaded again
	p.run(chromedp.Navigate(fmt.Sprintf("%s/?visit=%d#/%s", p.origin, p.visits, route)),
		chromedp.WaitVisible(selector, chromedp.ByQuery))
}

// eval evaluates an expression in the page.
func eval[T any](p *page, expression string) (value T) {
	p.t.Helper()
	p.run(chromedp.Evaluate(expression, &value,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return value
}

// until waits until an expression is true in the page.
func (p *page) until(what, expression string) {
	p.t.Helper()
	var value bool
	if err := chromedp.Run(p.ctx,
		chromedp.Poll("!!("+expression+")", &value, chromedp.WithPollingInterval(50*time.Millisecond),
			chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		p.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// emulate sets the colour scheme of the system and the size of the window.
func (p *page) emulate(scheme string, width, height int64) {
	p.t.Helper()
	p.run(
		emulation.SetDeviceMetricsOverride(width, height, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}),
	)
}
