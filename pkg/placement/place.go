package placement

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Submission is all that a rule may know about an application.
type Submission struct {
	Queue  string // as the RM named it; may be empty
	User   security.User
	Tags   map[string]string
	Forced bool // it runs already: it is placed in Recovery when no rule places it
}

// Tree is what rules see of the queues.
type Tree interface {
	// Lookup finds a queue by its lower-case path.
	Lookup(path string) (Spot, bool)
	// Refusal says why u may not submit to the queue at path or, where there is none yet,
	// have it made below the nearest queue that exists; empty: u may.
	Refusal(path string, u security.User) string
}

// Spot is what rules know about an existing queue.
type Spot struct{ Leaf, Draining bool }

// Queues that placement knows by name.
const (
	Root     = "root"
	Default  = "root.default" // taken when no rule matched and it exists
	Recovery = Root + "." + RecoveryName

	// RecoveryName is the last part of Recovery, which is for forced applications alone
	// and takes nothing from templates (behaviour.md 7.6).
	RecoveryName = "@recovery@"
)

// ErrNoMatch says that no rule named a queue that can take the application. It is
// wrapped with what each rule had to say.
var ErrNoMatch = errors.New("no placement rule matched")

// Place names the queue for a submission: a leaf that exists and is not draining, or a
// path that does not exist and may be created. An error of a rule ends the search, as a
// rule that has no opinion does not, nor one that names a queue to which the user may not
// submit (behaviour.md 7.1). Without rules the queue must be named by the submission and
// exist. Recovery is the only queue whose access list is not asked.
func Place(rules []Rule, s Submission, t Tree) (path string, err error) {
	if len(rules) == 0 {
		rules = []Rule{{Kind: Provided}}
	}
	var heard []string
	for i := range rules {
		path, why, err := rules[i].place(s, t)
		if err != nil {
			return "", fmt.Errorf("placement rule %s: %w", &rules[i], err)
		}
		if path != "" {
			if why = unusable(path, s.User, t); why == "" {
				return path, nil
			}
		}
		heard = append(heard, fmt.Sprintf("rule %s: %s", &rules[i], why))
	}
	if _, ok := t.Lookup(Default); ok {
		why := unusable(Default, s.User, t)
		if why == "" {
			return Default, nil
		}
		heard = append(heard, "what no rule places: "+why)
	}
	if s.Forced {
		return Recovery, nil
	}
	return "", fmt.Errorf("%w: %s", ErrNoMatch, strings.Join(heard, "; "))
}

// unusable says why an application of u cannot be placed at path; empty: it can.
func unusable(path string, u security.User, t Tree) string {
	spot, exists := t.Lookup(path)
	switch {
	case path == Recovery || strings.HasPrefix(path, Recovery+"."):
		return fmt.Sprintf("queue %s is only for applications that are recovered", path)
	case exists && !spot.Leaf:
		return fmt.Sprintf("queue %s is not a leaf", path)
	case exists && spot.Draining:
		return fmt.Sprintf("queue %s is being removed", path)
	}
	return t.Refusal(path, u)
}

// place is what the rule makes of a submission: a path, or why it has no opinion.
func (r *Rule) place(s Submission, t Tree) (path, why string, err error) {
	name, qualified, why := r.derive(s)
	if why != "" {
		return "", why, nil
	}
	if why := r.Filter.keepsOut(s.User); why != "" {
		return "", why, nil
	}
	if !qualified && r.Kind != Fixed {
		name = strings.ReplaceAll(name, ".", "_dot_")
	}
	for _, part := range strings.Split(name, ".") {
		if !legalName.MatchString(part) {
			return "", "", fmt.Errorf("%q is not a legal queue name", part)
		}
	}
	path = strings.ToLower(name)
	if !qualified {
		above := Root
		if r.Parent != nil {
			if above, why, err = r.Parent.place(s, t); err != nil || above == "" {
				return "", why, err
			}
			if spot, ok := t.Lookup(above); ok && spot.Leaf {
				return "", "", fmt.Errorf("parent rule %s names %s, which is a leaf", r.Parent, above)
			}
		}
		path = above + "." + path
	}
	if _, ok := t.Lookup(path); !ok && !r.Create {
		return "", fmt.Sprintf("queue %s does not exist, and the rule does not create it", path), nil
	}
	return path, "", nil
}

// derive is the rule's own name, before it is made a path; qualified: it is a path.
func (r *Rule) derive(s Submission) (name string, qualified bool, why string) {
	switch r.Kind {
	case Provided:
		if name = strings.TrimSpace(s.Queue); name == "" {
			return "", false, "the application names no queue"
		}
	case UserName:
		if s.User.Name == "" {
			return "", false, "the application has no user"
		}
		return s.User.Name, false, ""
	case Fixed:
		return r.Value, r.Value == Root || below(r.Value), ""
	case Tag:
		if name = tag(s.Tags, r.Value); name == "" {
			return "", false, fmt.Sprintf("the application has no tag %s", r.Value)
		}
	}
	return name, below(name), ""
}

// below reports whether name is the path of a queue below root.
func below(name string) bool {
	return len(name) > len(Root) && strings.EqualFold(name[:len(Root)+1], Root+".")
}

// tag finds a tag whatever the case of its name. Of several the first in order counts.
func tag(tags map[string]string, name string) string {
	found := ""
	for key := range tags {
		if strings.EqualFold(key, name) && (found == "" || key < found) {
			found = key
		}
	}
	return tags[found]
}

// legalName is what one level of a path may be (behaviour.md 1.4).
var legalName = regexp.MustCompile(`^[a-zA-Z0-9_:#/@-]{1,64}$`)

// keepsOut says why the filter is not for u; empty: it is.
func (f *Filter) keepsOut(u security.User) string {
	everybody := len(f.Users) == 0 && len(f.Groups) == 0 && f.UserPattern == nil && f.GroupPattern == nil
	if everybody && !f.Deny || !everybody && f.names(u) != f.Deny {
		return ""
	}
	return fmt.Sprintf("its filter is not for user %s", u.Name)
}

func (f *Filter) names(u security.User) bool {
	if slices.Contains(f.Users, u.Name) || f.UserPattern != nil && f.UserPattern.MatchString(u.Name) {
		return true
	}
	return slices.ContainsFunc(u.Groups, func(g string) bool {
		return slices.Contains(f.Groups, g) || f.GroupPattern != nil && f.GroupPattern.MatchString(g)
	})
}

// String is how a rule is called in a reason: tag namespace, or provided.
func (r *Rule) String() string {
	if r.Value == "" {
		return r.Kind.String()
	}
	return r.Kind.String() + " " + r.Value
}
