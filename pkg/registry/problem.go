package registry

import "fmt"

// Reason says why an object is refused. It is stable: clients compare it.
type Reason string

// The reasons of the registry itself; each type of objects has others. The reason for an object that does not exist
// is Kind.Unknown.
const (
	ReservedName  Reason = "reserved-name"         // a system object is to be deleted
	AlreadyExists Reason = "already-exists"        // another object of the kind has the key
	SecondDefault Reason = "second-global-default" // another object of the kind is the default
)

// Field is the field of an object that a Problem is about, as documents call it. Empty: the object as a whole.
type Field string

// NameField is the field of the name, in every kind.
const NameField Field = "name"

// Problem says why an object is refused.
type Problem struct {
	Kind   string // such as "priority class"
	Name   string // of the object, with its namespace; empty: it has none
	Reason Reason
	Field  Field
	Text   string // without the name of the object
}

// Error is "reason: kind NAME: text", or "reason: text" without a name.
func (p *Problem) Error() string {
	if p.Name == "" {
		return fmt.Sprintf("%s: %s", p.Reason, p.Text)
	}
	return fmt.Sprintf("%s: %s %s: %s", p.Reason, p.Kind, Quote(p.Name), p.Text)
}

// maxQuoted is the length of the longest name that Kubernetes accepts.
const maxQuoted = 253

// Quote is a name in quotes, shortened if no object can have it: requests may name anything.
func Quote(name string) string {
	if len(name) > maxQuoted {
		return fmt.Sprintf("%.*q...", maxQuoted, name)
	}
	return fmt.Sprintf("%q", name)
}
