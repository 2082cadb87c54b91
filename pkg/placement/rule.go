// Package placement has the placement rules, which derive a queue path from a submitted application
// (docs/behaviour/placement.md). It reads the queue tree through the interface Tree and changes nothing: package
// objects creates queues, package configs reads rules from documents.
//
// The invariant: a Rule is valid by construction: its kind exists, a fixed or tag rule has a value, and the
// expressions of its filter compile.
package placement

// Kind is what a rule derives the queue from (PLC-16 to PLC-19).
type Kind uint8

// The kinds of placement rules.
const (
	Provided Kind = iota // the queue that the submission names
	UserName             // the name of the user
	Fixed                // Value
	Tag                  // the application tag called Value
)

func (k Kind) String() string { return [...]string{"provided", "user", "fixed", "tag"}[k] }

// Rule derives a queue from a submission, or is passed over.
type Rule struct {
	Kind   Kind
	Create bool   // the queue may be one that does not exist yet (PLC-15)
	Value  string // the queue of a Fixed rule (lower case), the tag of a Tag rule, otherwise empty
	Filter Filter
	Parent *Rule // the rule for the queue above (PLC-14); nil: root
}

// String is the rule in reasons: "tag namespace", or "provided".
func (r *Rule) String() string {
	if r.Value == "" {
		return r.Kind.String()
	}
	return r.Kind.String() + " " + r.Value
}
