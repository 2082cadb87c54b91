package constraints

import (
	"fmt"
	"strconv"
)

// Operator relates a label to values. The names are those of Kubernetes.
type Operator string

// The operators of node selector terms.
const (
	In           Operator = "In"           // the label exists and has one of the values
	NotIn        Operator = "NotIn"        // the label is missing or has none of the values
	Exists       Operator = "Exists"       // the label exists
	DoesNotExist Operator = "DoesNotExist" // the label is missing
	Gt           Operator = "Gt"           // the label is an integer above the value
	Lt           Operator = "Lt"           // the label is an integer below the value
)

// Expression is a condition on one label, or on one field of a node.
type Expression struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// Matches reports whether a label fulfils e; exists is false if it is missing. Requires: Check has no error.
func (e *Expression) Matches(label string, exists bool) bool {
	switch e.Operator {
	case In:
		return exists && e.has(label)
	case NotIn:
		return !exists || !e.has(label)
	case Exists:
		return exists
	case DoesNotExist:
		return !exists
	}
	have, err := strconv.ParseInt(label, 10, 64)
	if !exists || err != nil {
		return false
	}
	bound, err := strconv.ParseInt(e.Values[0], 10, 64)
	if err != nil {
		return false // Check has refused it
	}
	return e.Operator == Gt && have > bound || e.Operator == Lt && have < bound
}

func (e *Expression) has(label string) bool {
	for _, v := range e.Values {
		if v == label {
			return true
		}
	}
	return false
}

// Check returns the error of an expression on a label; nil: it has none.
func (e *Expression) Check() error {
	if e.Key == "" {
		return fmt.Errorf("an expression has no key")
	}
	switch e.Operator {
	case In, NotIn:
		if len(e.Values) == 0 {
			return fmt.Errorf("%s of %s needs a value", e.Operator, e.Key)
		}
	case Exists, DoesNotExist:
		if len(e.Values) > 0 {
			return fmt.Errorf("%s of %s has no values", e.Operator, e.Key)
		}
	case Gt, Lt:
		if len(e.Values) != 1 {
			return fmt.Errorf("%s of %s needs exactly one value", e.Operator, e.Key)
		}
		if _, err := strconv.ParseInt(e.Values[0], 10, 64); err != nil {
			return fmt.Errorf("%s of %s needs an integer, not %q", e.Operator, e.Key, e.Values[0])
		}
	default:
		return fmt.Errorf("operator %q of %s is none of In, NotIn, Exists, DoesNotExist, Gt, Lt", e.Operator, e.Key)
	}
	return nil
}

// nameField is the only field of a node that a term may match.
const nameField = "metadata.name"

// checkField returns the error of an expression on a field.
func (e *Expression) checkField() error {
	switch {
	case e.Key != nameField:
		return fmt.Errorf("field %q is not %s", e.Key, nameField)
	case e.Operator != In && e.Operator != NotIn:
		return fmt.Errorf("operator %q of field %s is none of In, NotIn", e.Operator, e.Key)
	case len(e.Values) != 1:
		return fmt.Errorf("%s of field %s needs exactly one value", e.Operator, e.Key)
	}
	return nil
}
