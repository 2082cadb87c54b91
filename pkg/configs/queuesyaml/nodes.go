package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Nodes reads a YAML document of another format, such as a file of assertions, with the messages and hints of Load.
// Unlike in queues.yaml, a null is not a missing value but a problem.
type Nodes struct{ r *reader }

// NewNodes returns a reader without problems.
func NewNodes() Nodes { return Nodes{newReader(Options{})} }

// Document returns the top node of a text; nil: it is empty, or a problem was reported.
func (n Nodes) Document(text []byte) *yaml.Node { return n.r.parseDocument(text) }

// Problems returns the problems so far, in the order of the text.
func (n Nodes) Problems() validation.Problems { return n.r.Sorted() }

// Refuse reports a problem at a node.
func (n Nodes) Refuse(at *yaml.Node, hint, format string, args ...any) {
	n.r.Add(nil, positionOf(at), "yaml-type", fmt.Sprintf(format, args...), hint)
}

// WrongType reports a value of the wrong kind.
func (n Nodes) WrongType(at *yaml.Node, what, want string) { n.r.wrongType(nil, what, at, want) }

// isSet reports whether a node has a value, and otherwise a problem.
func (n Nodes) isSet(x *yaml.Node, what, want string) bool {
	if isNull(x) {
		n.WrongType(x, what, want)
	}
	return !isNull(x)
}

// Each calls do for each entry of a mapping.
func (n Nodes) Each(x *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.isSet(x, what, "a mapping") {
		for _, p := range n.r.pairs(nil, what, x) {
			do(p.key, p.value)
		}
	}
}

// List returns the elements of a list.
func (n Nodes) List(x *yaml.Node, what string) []*yaml.Node {
	if !n.isSet(x, what, "a list") {
		return nil
	}
	return n.r.list(nil, what, x)
}

// Text returns a text.
func (n Nodes) Text(x *yaml.Node, what string) string {
	if !n.isSet(x, what, "a text") {
		return ""
	}
	return n.r.text(nil, what, x)
}

// Flag returns a boolean.
func (n Nodes) Flag(x *yaml.Node, what string) bool {
	return n.isSet(x, what, "true or false") && n.r.flag(nil, what, x, false)
}
