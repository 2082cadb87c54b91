package rmproxy

import (
	"fmt"
	"slices"

	"go.uber.org/zap"
)

// managerChange is which RM registers, and in whose place.
type managerChange struct {
	rm     string
	former string // the RM that was registered last; empty: none was
	why    string // why another RM may take its place; empty: it is the same
}

// managerChange describes the registration of rm, which may register. The caller must hold
// lifecycleMu.
func (p *Proxy) managerChange(rm string) managerChange {
	p.mu.Lock()
	s, former := p.current(), p.registered.RM
	p.mu.Unlock()
	c := managerChange{rm: rm, former: former}
	switch {
	case former == "" || former == rm:
	case s == nil:
		c.why = "an administrator had released it"
	default:
		c.why = s.whyReplaceable()
	}
	return c
}

// replaces reports whether another RM has the registration from now on.
func (c managerChange) replaces() bool { return c.why != "" }

// reason is the change in words, for the event history; empty: it is the first registration.
func (c managerChange) reason() string {
	switch {
	case c.former == "":
		return ""
	case !c.replaces():
		return fmt.Sprintf("resource manager %s registered again", c.rm)
	}
	return fmt.Sprintf("resource manager %s replaced %s: %s", c.rm, c.former, c.why)
}

// maxReplaced bounds the replaced RMs that are remembered.
const maxReplaced = 64

// noteReplaced notes that another RM has registered in the place of one. The replaced RM must not take
// the registration back at once: two RMs would replace each other for ever (RMI-77).
func (p *Proxy) noteReplaced(c managerChange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = slices.DeleteFunc(p.replaced, func(rm string) bool { return rm == c.rm || rm == c.former })
	if !c.replaces() {
		return
	}
	p.replaced = append(p.replaced, c.former)
	if len(p.replaced) > maxReplaced {
		p.replaced = slices.Delete(p.replaced, 0, 1)
	}
	p.replacements++
	p.log.Warn("resource manager replaced", zap.String("rm", c.former), zap.String("by", c.rm),
		zap.String("reason", c.why))
}

// mayReplaceConnected reports whether an RM may replace one that is connected, or has not been
// disconnected for long enough (RMI-77).
func (p *Proxy) mayReplaceConnected(rm string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opt.Limits.ReplaceConnected && !slices.Contains(p.replaced, rm)
}

// whyReplaceable returns why another RM may replace this one now, in words.
func (s *session) whyReplaceable() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.openStreams() > 0:
		return "it was connected, and may be replaced at any time"
	case s.replaceableAt().After(s.p.clock()):
		return "it had no stream, and may be replaced at any time"
	case s.finished:
		return "it had ended its streams"
	}
	return "it was disconnected"
}
