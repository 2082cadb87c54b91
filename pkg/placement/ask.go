package placement

import (
	"fmt"
	"regexp"
	"strings"
)

// ask is what the rule makes of a submission, before anybody looks whether the queue can
// take it (behaviour.md 7.2).
func (r *Rule) ask(s Submission, t Tree) Step {
	out := Step{Rule: r.String()}
	name, qualified, why := r.derive(s)
	if why == "" {
		why = r.Filter.keepsOut(s.User)
	}
	if why != "" {
		out.Why = why
		return out
	}
	if !qualified && r.Kind != Fixed {
		name = strings.ReplaceAll(name, ".", "_dot_")
	}
	for _, part := range strings.Split(name, ".") {
		if !legalName.MatchString(part) {
			return out.failed("%q is not a legal queue name", part)
		}
	}
	path := strings.ToLower(name)
	if !qualified {
		above := Root
		if r.Parent != nil {
			parent := r.Parent.ask(s, t)
			out.Parent = &parent
			if parent.Outcome != Named {
				out.Outcome, out.Why = parent.Outcome, parent.Why
				return out
			}
			above = parent.Path
			if spot, ok := t.Lookup(above); ok && spot.Leaf {
				return out.failed("parent rule %s names %s, which is a leaf", r.Parent, above)
			}
		}
		path = above + "." + path
	}
	if _, ok := t.Lookup(path); !ok && !r.Create {
		out.Why = fmt.Sprintf("queue %s does not exist, and the rule does not create it", path)
		return out
	}
	out.Path, out.Outcome = path, Named
	return out
}

func (s Step) failed(format string, args ...any) Step {
	s.Outcome, s.Why = Failed, fmt.Sprintf(format, args...)
	return s
}

// derive is the rule's own name, before it is made a path; qualified: it is a path; why:
// the rule has no name for this submission.
func (r *Rule) derive(s Submission) (name string, qualified bool, why string) {
	switch r.Kind {
	case Provided:
		return provided(s)
	case UserName:
		return userName(s)
	case Fixed:
		return r.fixed()
	case Tag:
		return r.tagged(s)
	}
	panic(fmt.Sprintf("placement: rule of kind %d", r.Kind))
}

// below reports whether name is the path of a queue below root.
func below(name string) bool {
	return len(name) > len(Root) && strings.EqualFold(name[:len(Root)+1], Root+".")
}

// legalName is what one level of a path may be (behaviour.md 1.4).
var legalName = regexp.MustCompile(`^[a-zA-Z0-9_:#/@-]{1,64}$`)
