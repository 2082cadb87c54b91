package limits

import (
	"slices"
	"strings"
)

// Operator says how a Selector matches classes. The names are those of Kubernetes (QUO-35).
type Operator uint8

// The operators. In and NotIn have classes, Exists and DoesNotExist have none.
const (
	In           Operator = iota // asks of one of these classes
	NotIn                        // asks of another class, or of none
	Exists                       // asks of any class
	DoesNotExist                 // asks of no class
)

// Operators returns all operators, in the order of their numbers.
func Operators() []Operator { return []Operator{In, NotIn, Exists, DoesNotExist} }

func (o Operator) String() string { return [...]string{"In", "NotIn", "Exists", "DoesNotExist"}[o] }

// NeedsClasses reports whether the operator must have classes.
func (o Operator) NeedsClasses() bool { return o == In || o == NotIn }

// ParseOperator reads the name of an operator.
func ParseOperator(text string) (o Operator, ok bool) {
	for _, o := range Operators() {
		if o.String() == text {
			return o, true
		}
	}
	return 0, false
}

// Selector matches asks by their priority class (QUO-35). Two Selectors are equal if,
// and only if, they have the same String. Values are immutable.
type Selector struct {
	Operator Operator
	Classes  []string // sorted, each once
}

// Matches reports whether the Selector matches asks of a class; empty: asks without a class.
func (s Selector) Matches(class string) bool {
	switch s.Operator {
	case In:
		return slices.Contains(s.Classes, class)
	case NotIn:
		return !slices.Contains(s.Classes, class)
	case Exists:
		return class != ""
	}
	return class == ""
}

// String returns the scope in the notation of Kubernetes: "PriorityClass In [a b]".
func (s Selector) String() string {
	text := "PriorityClass " + s.Operator.String()
	if s.Operator.NeedsClasses() {
		text += " [" + strings.Join(s.Classes, " ") + "]"
	}
	return text
}
