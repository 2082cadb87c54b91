package placement

import (
	"fmt"
	"regexp"
	"strings"
)

// evaluate derives a queue path from a submission (PLC-4, PLC-11 to PLC-15), without the checks of checkUsable. A rule
// with `create: false` needs an existing queue.
func (r *Rule) evaluate(s Submission, t Tree) Step {
	out := Step{Rule: r.String()}
	name, qualified, reason := kinds[r.Kind].queueName(r, s)
	if reason == "" {
		reason = r.Filter.rejectReason(&s)
	}
	if reason != "" {
		out.Reason = reason
		return out
	}
	if !qualified && r.Kind != Fixed {
		name = strings.ReplaceAll(name, ".", "_dot_")
	}
	for _, part := range strings.Split(name, ".") {
		if !queueNamePattern.MatchString(part) {
			if len(part) > maxQueueNameLength {
				return out.rejected("%.*q... is not a legal queue name: it has %d bytes, and may have %d",
					maxQueueNameLength, part, len(part), maxQueueNameLength)
			}
			return out.rejected("%q is not a legal queue name", part)
		}
	}
	path := strings.ToLower(name)
	if !qualified {
		above := Root
		if r.Parent != nil {
			parent := r.Parent.evaluate(s, t)
			out.Parent = &parent
			if parent.Outcome != Named {
				out.Outcome, out.Reason = parent.Outcome, parent.Reason
				return out
			}
			above = parent.Path
			if queue, ok := t.Lookup(above); ok && queue.Leaf {
				return out.rejected("parent rule %s names %s, which is a leaf", r.Parent, above)
			}
		}
		path = above + "." + path
	}
	if _, ok := t.Lookup(path); !ok && !r.Create {
		out.Reason = fmt.Sprintf("queue %s does not exist, and the rule does not create it", path)
		return out
	}
	out.Path, out.Outcome = path, Named
	return out
}

func (s Step) rejected(format string, args ...any) Step {
	s.Outcome, s.Reason = Rejected, fmt.Sprintf(format, args...)
	return s
}

// isQualified reports whether path begins with "root." and so is a whole path (PLC-13).
func isQualified(path string) bool {
	return len(path) > len(Root) && strings.EqualFold(path[:len(Root)+1], Root+".")
}

// queueNamePattern matches a legal name of one level of a path (PLC-11).
var queueNamePattern = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_:#/@-]{1,%d}$`, maxQueueNameLength))

const maxQueueNameLength = 64 // in bytes (CFG-36)
