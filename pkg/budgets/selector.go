package budgets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// The tags by which a shim sends what a budget looks at (behaviour.md 10; the constants of the
// scheduler interface).
const (
	LabelTag     = "kubernetes.io/label/" // and the key of a label
	NamespaceTag = "kubernetes.io/meta/namespace"
)

// NamespaceOf is the namespace of work with these tags.
func NamespaceOf(tags map[string]string) string {
	return cmp.Or(tags[NamespaceTag], DefaultNamespace)
}

// Operator is what an Expression asks of a label.
type Operator string

// The operators, as Kubernetes writes them.
const (
	In           Operator = "In"           // it is there and has one of some values
	NotIn        Operator = "NotIn"        // it is not there, or has another value
	Exists       Operator = "Exists"       // it is there
	DoesNotExist Operator = "DoesNotExist" // it is not
)

// Operators are all of them.
func Operators() []Operator { return []Operator{In, NotIn, Exists, DoesNotExist} }

// Expression is a condition on one label.
type Expression struct {
	Key      string
	Operator Operator
	Values   []string // of In and NotIn: some; of the others: none
}

// FirstProblem says what is wrong with the expression, or nothing.
func (e Expression) FirstProblem() string {
	if reason := names.LabelKeyProblem(e.Key); reason != "" {
		return fmt.Sprintf("the label %s %s", names.Quote(e.Key), reason)
	}
	switch {
	case !slices.Contains(Operators(), e.Operator):
		return fmt.Sprintf("there is no operator %s", names.Quote(string(e.Operator)))
	case e.needsValues() && len(e.Values) == 0:
		return fmt.Sprintf("%s of label %s has no values", e.Operator, names.Quote(e.Key))
	case !e.needsValues() && len(e.Values) > 0:
		return fmt.Sprintf("%s of label %s has values", e.Operator, names.Quote(e.Key))
	}
	for _, v := range e.Values {
		if reason := names.LabelValueProblem(v); reason != "" {
			return fmt.Sprintf("the value %s of label %s %s", names.Quote(v), names.Quote(e.Key), reason)
		}
	}
	return ""
}

func (e Expression) needsValues() bool { return e.Operator == In || e.Operator == NotIn }

// Selector says which labels the work of a budget has: all that it names, and what every
// expression asks for. One that says nothing, such as the zero value, selects nothing, as in
// kube-scheduler; and work without labels is selected by none. Values are immutable.
type Selector struct {
	terms []term // first the labels, then the expressions, each in order
}

type term struct {
	Expression
	tag   string
	label bool // it is a label with its value, written as such
}

// NewSelector returns a selector of labels with their values and of expressions. In which order
// these stand makes no difference.
func NewSelector(labels map[string]string, expressions []Expression) Selector {
	var s Selector
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s.terms = append(s.terms, term{Expression{key, In, []string{labels[key]}}, LabelTag + key, true})
	}
	first := len(s.terms)
	for _, e := range expressions {
		e.Values = slices.Compact(slices.Sorted(slices.Values(e.Values)))
		s.terms = append(s.terms, term{e, LabelTag + e.Key, false})
	}
	slices.SortFunc(s.terms[first:], func(a, b term) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	})
	return s
}

// IsEmpty reports whether the selector says nothing, and so selects nothing.
func (s Selector) IsEmpty() bool { return len(s.terms) == 0 }

// Labels are the labels that the selector names, with their values. It is made on every call.
func (s Selector) Labels() map[string]string {
	out := map[string]string{}
	for _, t := range s.terms {
		if t.label {
			out[t.Key] = t.Values[0]
		}
	}
	return out
}

// Expressions are the others, in order. They are not to be changed.
func (s Selector) Expressions() []Expression {
	var out []Expression
	for _, t := range s.terms {
		if !t.label {
			out = append(out, t.Expression)
		}
	}
	return out
}

// Equal reports whether two selectors say the same.
func (s Selector) Equal(o Selector) bool {
	return slices.EqualFunc(s.terms, o.terms, func(a, b term) bool {
		return a.label == b.label && a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
	})
}

// String is the selector on a line, as kubectl writes one: app=db,tier in (a,b),!canary.
func (s Selector) String() string {
	parts := make([]string, len(s.terms))
	for i, t := range s.terms {
		switch {
		case t.label:
			parts[i] = t.Key + "=" + t.Values[0]
		case t.Operator == Exists:
			parts[i] = t.Key
		case t.Operator == DoesNotExist:
			parts[i] = "!" + t.Key
		default:
			parts[i] = fmt.Sprintf("%s %s (%s)", t.Key, strings.ToLower(string(t.Operator)), strings.Join(t.Values, ","))
		}
	}
	return strings.Join(parts, ",")
}

// RequiredTag is a tag that all work has which the selector selects, with its value: that of the
// first of its labels. ok is false when the selector names none.
func (s Selector) RequiredTag() (tag, value string, ok bool) {
	if len(s.terms) == 0 || !s.terms[0].label {
		return "", "", false
	}
	return s.terms[0].tag, s.terms[0].Values[0], true
}

// Matches reports whether the labels among tags are as the selector wants them. It makes no
// garbage: a million allocations may be asked.
func (s Selector) Matches(tags map[string]string) bool {
	if len(s.terms) == 0 || len(tags) == 0 {
		return false
	}
	labelled := false
	for i := range s.terms {
		t := &s.terms[i]
		value, found := tags[t.tag]
		labelled = labelled || found
		if !t.matches(value, found) {
			return false
		}
	}
	return labelled || hasLabels(tags)
}

func (t *term) matches(value string, found bool) bool {
	switch t.Operator {
	case In:
		return found && slices.Contains(t.Values, value)
	case NotIn:
		return !found || !slices.Contains(t.Values, value)
	case Exists:
		return found
	}
	return !found
}

func hasLabels(tags map[string]string) bool {
	for name := range tags {
		if strings.HasPrefix(name, LabelTag) {
			return true
		}
	}
	return false
}

// firstProblem says what is wrong with the selector, or nothing.
func (s Selector) firstProblem() string {
	for _, t := range s.terms {
		if reason := t.FirstProblem(); reason != "" {
			return reason
		}
	}
	return ""
}
