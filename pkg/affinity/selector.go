package affinity

import (
	"errors"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Selector is a label selector of Kubernetes. The zero value selects everything, nil selects nothing.
type Selector struct {
	MatchLabels      map[string]string        `json:"matchLabels,omitempty"`
	MatchExpressions []constraints.Expression `json:"matchExpressions,omitempty"`
}

// Matches reports whether s selects an allocation with these labels.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return false
	}
	for key, value := range s.MatchLabels {
		if have, ok := labels[key]; !ok || have != value {
			return false
		}
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		if have, exists := labels[e.Key]; !e.Matches(have, exists) {
			return false
		}
	}
	return true
}

// check returns the error of a selector; nil: it has none.
func (s *Selector) check() error {
	if s == nil {
		return nil
	}
	if _, ok := s.MatchLabels[""]; ok {
		return errors.New("a label of matchLabels has no key")
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		if e.Operator == constraints.Gt || e.Operator == constraints.Lt {
			return fmt.Errorf("operator %q of %s is none of In, NotIn, Exists, DoesNotExist", e.Operator, e.Key)
		}
		if err := e.Check(); err != nil {
			return err
		}
	}
	return nil
}

// with returns s with a further condition for each key: the label must have the value that it has in labels or, for
// mismatched keys, another one. A key that labels lack is no condition. Without any condition it returns s.
func (s *Selector) with(keys, mismatched []string, labels map[string]string) *Selector {
	out := s
	for i, key := range slices.Concat(keys, mismatched) {
		value, ok := labels[key]
		if !ok {
			continue
		}
		if out == s {
			out = &Selector{MatchLabels: s.MatchLabels, MatchExpressions: slices.Clone(s.MatchExpressions)}
		}
		operator := constraints.In
		if i >= len(keys) {
			operator = constraints.NotIn
		}
		out.MatchExpressions = append(out.MatchExpressions,
			constraints.Expression{Key: key, Operator: operator, Values: []string{value}})
	}
	return out
}
