package budgets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// The tags of an ask that a budget reads, as shims send them (PRE-65; constants of the
// scheduler interface).
const (
	LabelTag     = "kubernetes.io/label/" // followed by the key of a label
	NamespaceTag = "kubernetes.io/meta/namespace"
)

// NamespaceOf returns the namespace of an ask with these tags.
func NamespaceOf(tags map[string]string) string {
	return cmp.Or(tags[NamespaceTag], DefaultNamespace)
}

// Operator is the condition of an Expression on a label.
type Operator string

// The operators of Kubernetes label selectors.
const (
	In           Operator = "In"           // the label exists and has one of the values
	NotIn        Operator = "NotIn"        // the label does not exist, or has another value
	Exists       Operator = "Exists"       // the label exists
	DoesNotExist Operator = "DoesNotExist" // the label does not exist
)

// Operators returns all operators.
func Operators() []Operator { return []Operator{In, NotIn, Exists, DoesNotExist} }

// Expression is a condition on one label.
type Expression struct {
	Key      string
	Operator Operator
	Values   []string // at least one for In and NotIn, none for the other operators
}

// FirstProblem returns the first violation of the expression; empty: none.
func (e Expression) FirstProblem() string {
	if reason := names.LabelKeyProblem(e.Key); reason != "" {
		return fmt.Sprintf("the label %s %s", registry.Quote(e.Key), reason)
	}
	switch {
	case !slices.Contains(Operators(), e.Operator):
		return fmt.Sprintf("there is no operator %s", registry.Quote(string(e.Operator)))
	case e.needsValues() && len(e.Values) == 0:
		return fmt.Sprintf("%s of label %s has no values", e.Operator, registry.Quote(e.Key))
	case !e.needsValues() && len(e.Values) > 0:
		return fmt.Sprintf("%s of label %s has values", e.Operator, registry.Quote(e.Key))
	}
	for _, v := range e.Values {
		if reason := names.LabelValueProblem(v); reason != "" {
			return fmt.Sprintf("the value %s of label %s %s", registry.Quote(v), registry.Quote(e.Key), reason)
		}
	}
	return ""
}

func (e Expression) needsValues() bool { return e.Operator == In || e.Operator == NotIn }

// Selector is a label selector: it selects allocations that have all of its labels and meet all of its expressions. An
// empty selector, such as the zero value, selects nothing, as in kube-scheduler, and an allocation without labels is
// never selected (PRE-65). Values are immutable.
type Selector struct {
	terms []term // the labels, then the expressions, each sorted
}

type term struct {
	Expression
	tag   string
	label bool // from matchLabels, not from an expression
}

// NewSelector returns a selector of labels with their values and of expressions, whose order makes no difference.
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

// IsEmpty reports whether the selector has no condition, and so selects nothing.
func (s Selector) IsEmpty() bool { return len(s.terms) == 0 }

// Labels returns the labels of the selector with their values. The map is new.
func (s Selector) Labels() map[string]string {
	out := map[string]string{}
	for _, t := range s.terms {
		if t.label {
			out[t.Key] = t.Values[0]
		}
	}
	return out
}

// Expressions returns the expressions, sorted. The caller must not change them.
func (s Selector) Expressions() []Expression {
	var out []Expression
	for _, t := range s.terms {
		if !t.label {
			out = append(out, t.Expression)
		}
	}
	return out
}

// Equal reports whether two selectors have the same conditions.
func (s Selector) Equal(o Selector) bool {
	return slices.EqualFunc(s.terms, o.terms, func(a, b term) bool {
		return a.label == b.label && a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
	})
}

// String returns the selector in the notation of kubectl: app=db,tier in (a,b),!canary.
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

// RequiredTag returns a tag with the value that every selected allocation has: that of the first label. ok is false
// when the selector has no label.
func (s Selector) RequiredTag() (tag, value string, ok bool) {
	if len(s.terms) == 0 || !s.terms[0].label {
		return "", "", false
	}
	return s.terms[0].tag, s.terms[0].Values[0], true
}

// Matches reports whether the labels among tags meet all conditions. It allocates nothing: it may be called for a
// million allocations.
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

// firstProblem returns the first violation of the selector; empty: none.
func (s Selector) firstProblem() string {
	for _, t := range s.terms {
		if reason := t.FirstProblem(); reason != "" {
			return reason
		}
	}
	return ""
}
