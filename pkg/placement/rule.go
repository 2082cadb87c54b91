// Package placement holds the rules that turn a submission into a queue path, and
// applies them. It sees the queue tree through one question, and changes nothing: making
// the queue is the partition's business, and reading rules from text is package configs'.
//
// The rule that must hold: a Rule is valid by construction: its kind exists, a fixed
// or tag rule has a value, and its filter's expressions compile.
package placement

// Kind is what a rule derives the queue from (behaviour.md 7.3).
type Kind uint8

// The kinds of placement rules.
const (
	Provided Kind = iota // the queue the submission names
	UserName             // the name of the user
	Fixed                // Value
	Tag                  // the application tag called Value
)

func (k Kind) String() string { return [...]string{"provided", "user", "fixed", "tag"}[k] }

// Rule names a queue for a submission, or has no opinion.
type Rule struct {
	Kind   Kind
	Create bool   // may name a queue that does not exist yet
	Value  string // queue of a Fixed rule (lower case), tag of a Tag rule, else empty
	Filter Filter
	Parent *Rule // names the queue above; nil: root
}

// String is how a rule is called in a reason: tag namespace, or provided.
func (r *Rule) String() string {
	if r.Value == "" {
		return r.Kind.String()
	}
	return r.Kind.String() + " " + r.Value
}
