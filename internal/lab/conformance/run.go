package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// rmID is the ID of the resource manager that the cases are.
const rmID = "conformance"

// Options say what Run does.
type Options struct {
	// Only is a pattern as of path.Match; cases whose names it matches are run. Empty: all.
	Only string
	// Features are those that the endpoint has; cases of others are not run.
	Features []string
	// Timeout bounds the time for each answer; it must be above 0.
	Timeout time.Duration
	// Progress is called after each case; nil: not called.
	Progress func(Result)
	// Now is the clock of the times of cases.
	Now func() time.Time
}

// Result is the result of a case.
type Result struct {
	Case     Case
	Failure  error // nil: it passed
	Duration time.Duration
}

// Select returns the cases that only matches, and apart those of other features. A pattern that is malformed or selects
// no case, and an unknown feature, are errors.
func Select(only string, features ...string) (selected, skipped []Case, err error) {
	for _, f := range features {
		if !slices.Contains(Features(), f) {
			return nil, nil, fmt.Errorf("no feature is called %q: the features are %s", f, strings.Join(Features(), ", "))
		}
	}
	for _, c := range Cases() {
		matched := only == ""
		if !matched {
			if matched, err = path.Match(only, c.Name); err != nil {
				return nil, nil, fmt.Errorf("%q: %w", only, err)
			}
		}
		switch {
		case !matched:
		case c.Feature == "" || slices.Contains(features, c.Feature):
			selected = append(selected, c)
		default:
			skipped = append(skipped, c)
		}
	}
	switch {
	case len(selected)+len(skipped) == 0:
		return nil, nil, fmt.Errorf("no case is called %q", only)
	case len(selected) == 0:
		return nil, skipped, fmt.Errorf("the cases called %q are about features that were not named", only)
	}
	return selected, skipped, nil
}

// Run runs cases one after the other against the endpoint of conn. An error means that there is no verdict: the
// endpoint does not answer, refuses the resource manager, or ctx has ended.
func Run(ctx context.Context, conn grpc.ClientConnInterface, opt Options) (results []Result, err error) {
	selected, _, err := Select(opt.Only, opt.Features...)
	if err != nil {
		return nil, err
	}
	for _, c := range selected {
		start := opt.Now()
		failure, err := runCase(ctx, conn, c, opt.Timeout)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return results, err
		}
		r := Result{c, failure, opt.Now().Sub(start)}
		results = append(results, r)
		if opt.Progress != nil {
			opt.Progress(r)
		}
	}
	return results, nil
}

// player replays one case.
type player struct {
	*client
	timeout  time.Duration
	register error // what the last registration of the case returned
	fences   int   // how many fences there were
}

// runCase registers, which starts over, and replays the steps of c.
func runCase(ctx context.Context, conn grpc.ClientConnInterface, c Case, timeout time.Duration) (failure, err error) {
	p := &player{client: newClient(conn), timeout: timeout}
	defer p.close()
	if err := p.call(ctx, fmt.Sprintf(`{"rmID": %q}`, rmID)); err != nil {
		return nil, fmt.Errorf("the resource manager %s cannot register: %w", rmID, err)
	}
	if err := p.open(ctx, rmID); err != nil {
		return nil, err
	}
	if err := p.fence(ctx); err != nil {
		return fmt.Errorf("%s: before the case: %w", c.Name, err), nil
	}
	for _, s := range c.steps {
		if err := p.play(ctx, s); err != nil {
			return fmt.Errorf("%s:%d: %w", s.file, s.line, err), nil
		}
	}
	if err := p.fence(ctx); err != nil {
		return fmt.Errorf("%s: after the case: %w", c.Name, err), nil
	}
	for _, r := range p.untaken() {
		if r.list != "updated" { // states of applications that no case asks for
			return fmt.Errorf("%s: not demanded: %v", c.Name, r), nil
		}
	}
	return nil, nil
}

// fence waits for an answer on each stream, so that the streams are open, and answers to messages before have come.
func (p *player) fence(ctx context.Context) error {
	p.fences++
	for _, s := range []step{
		{method: updateNode, body: `{"nodes": [{"nodeID": "fence-N", "action": "CREATE_DRAIN"}]}`},
		{kind: receive, method: updateNode, body: `{"accepted": [{"nodeID": "fence-N"}]}`},
		{method: updateApplication,
			body: `{"new": [{"applicationID": "fence-N", "queueName": "root.unknown", "ugi": {"user": "fence"}}]}`},
		{kind: receive, method: updateApplication, body: `{"rejected": [{"applicationID": "fence-N"}]}`},
		{method: updateAllocation, body: `{"allocations": [{"allocationKey": "fence-N", "applicationID": "fence-unknown",
			"resourcePerAlloc": {"resources": {"vcore": {"value": 1}}}}]}`},
		{kind: receive, method: updateAllocation, body: `{"rejectedAllocations": [{"allocationKey": "fence-N"}]}`},
	} {
		s.body = strings.ReplaceAll(s.body, "fence-N", fmt.Sprintf("fence-%d", p.fences))
		if err := p.play(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) play(ctx context.Context, s step) error {
	if s.kind == openStreams {
		if err := p.reopen(ctx); err != nil {
			return err
		}
		return p.fence(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	switch s.kind {
	case sendLegacy:
		return p.sent(ctx, s.method, p.sendLegacyAsks(s.body))
	case send:
		switch s.method {
		case register:
			p.register = p.call(ctx, s.body)
			return nil
		case waitingStates:
			return p.openHints(s.body)
		}
		return p.sent(ctx, s.method, p.sendOn(s.method, s.body))
	case receiveCode:
		return p.expectCode(ctx, s)
	case receive:
		if s.method == register {
			return p.register
		}
		return p.expect(ctx, s)
	}
	panic(fmt.Sprintf("conformance: no step %d", s.kind))
}

// reopen opens the streams again. What the former ones have brought and no step has taken is lost, as after a
// connection that broke.
func (p *player) reopen(ctx context.Context) error {
	p.close()
	p.mu.Lock()
	p.inbox = nil
	p.mu.Unlock()
	return p.open(ctx, rmID)
}

// call registers. A message without a configuration gets that of the cases, and one without a version 1.9.0.
func (p *player) call(ctx context.Context, body string) error {
	m := &si.RegisterResourceManagerRequest{}
	if err := protojson.Unmarshal([]byte(body), m); err != nil {
		return err
	}
	if m.Config == "" {
		m.Config = configuration
	}
	if m.Version == "" {
		m.Version = "1.9.0"
	}
	m.PolicyGroup = "queues"
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	_, err := p.rm.RegisterResourceManager(ctx, m)
	return err
}

// expectCode waits for the end of a stream, or looks at how the last call ended.
func (p *player) expectCode(ctx context.Context, s step) error {
	if s.method == register {
		if got := status.Code(p.register); got.String() != s.body {
			return fmt.Errorf("the registration ends with %v, %s is demanded", got, s.body)
		}
		return nil
	}
	if !p.take(ctx, s.method,
		func(r received) bool { return r.method == s.method && r.element == nil && r.code.String() == s.body }) {
		return p.missing(s.method + " ends with " + s.body)
	}
	return nil
}

// expect waits for all elements of an answer, in any order.
func (p *player) expect(ctx context.Context, s step) error {
	wanted, err := elementsIn(s.body)
	if err != nil {
		return err
	}
	for _, want := range wanted {
		want.method = s.method
		if !p.take(ctx, want.method, func(r received) bool {
			return r.method == want.method && r.list == want.list && r.element != nil && contains(r.element, want.element)
		}) {
			return p.missing(want.String())
		}
	}
	return nil
}

// sent returns the error of sending a message: of a stream that has ended, with the reason.
func (p *player) sent(ctx context.Context, method string, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	p.take(ctx, method, func(received) bool { return false }) // the end of the stream
	return p.missing("an open stream " + method)
}

// missing returns the error that something did not arrive, with what did.
func (p *player) missing(what string) error {
	var instead []string
	for _, r := range p.untaken() {
		instead = append(instead, r.String())
	}
	if len(instead) == 0 {
		instead = append(instead, "nothing")
	}
	return fmt.Errorf("missing, waited for %v at most: %s; received instead: %s", p.timeout, what,
		strings.Join(instead, "; "))
}

// contains reports whether got has everything of want: each field of an object, equal values, equally long lists.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for k, v := range want {
			ok = ok && contains(got[k], v)
		}
		return ok
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(got, want, contains)
	}
	// protojson writes an int64 as a string.
	return fmt.Sprint(got) == fmt.Sprint(want)
}
