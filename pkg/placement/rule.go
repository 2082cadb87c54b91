// Package placement has the placement rules, which derive a queue path from a submitted application
// (docs/behaviour/placement.md). It reads the queue tree through the interface Tree and changes nothing: package
// objects creates queues, package configs reads rules from documents.
//
// The invariant: a Rule is valid by construction: its kind exists, a fixed or tag rule has a value, and the
// expressions of its filter compile.
package placement

// Kind says from what a rule derives the queue (PLC-16 to PLC-19).
type Kind uint8

// The kinds of placement rules.
const (
	Provided Kind = iota // the queue that the submission names
	UserName             // the name of the user
	Fixed                // Value
	Tag                  // the application tag called Value
)

// kinds describes the kinds of rules by Kind: documents, hints, schema, evaluation and REST derive from it.
var kinds = [...]struct {
	name      string
	source    string // what the name of the queue is, for the schema
	needs     string // what a rule of the kind needs as Value; empty: it has none
	parameter string // of Value in REST
	queueName func(r *Rule, s Submission) (name string, qualified bool, reason string)
}{
	Provided: {name: "provided", source: "the queue that the application names", queueName: providedName},
	UserName: {name: "user", source: "the name of its user", queueName: userName},
	Fixed: {name: "fixed", source: "this rule's value", needs: "a queue", parameter: "queue",
		queueName: (*Rule).fixedName},
	Tag: {name: "tag", source: "the value of a tag of the application", needs: "the name of a tag", parameter: "tagName",
		queueName: (*Rule).tagName},
}

func (k Kind) String() string { return kinds[k].name }

// Source returns what the name of the queue is, for people.
func (k Kind) Source() string { return kinds[k].source }

// Needs returns what a rule needs as Value, for people; empty: rules of the kind have none.
func (k Kind) Needs() string { return kinds[k].needs }

// Parameter returns the name of Value in REST; empty: rules of the kind have none.
func (k Kind) Parameter() string { return kinds[k].parameter }

// Kinds returns all kinds.
func Kinds() (all []Kind) {
	for k := range kinds {
		all = append(all, Kind(k))
	}
	return all
}

// Rule derives a queue from a submission, or is passed over.
type Rule struct {
	Kind   Kind
	Create bool   // the queue need not exist yet (PLC-15)
	Value  string // the queue of a Fixed rule (lower case), the tag of a Tag rule, otherwise empty
	Filter Filter
	Parent *Rule // the rule for the queue above (PLC-14); nil: root
}

// String returns the rule as reasons name it: "tag namespace", or "provided".
func (r *Rule) String() string {
	if r.Value == "" {
		return r.Kind.String()
	}
	return r.Kind.String() + " " + r.Value
}
