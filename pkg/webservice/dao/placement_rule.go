package dao

import (
	"regexp"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// PlacementRule is a placement rule of a partition.
type PlacementRule struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters"`
	Filter     *PlacementFilter  `json:"filter,omitempty"`
	ParentRule *PlacementRule    `json:"parentRule,omitempty"`
}

// PlacementFilter is the users and groups that a rule is for, or with deny those that it is not for.
type PlacementFilter struct {
	Type      string   `json:"type"` // allow or deny
	UserList  []string `json:"userList,omitempty"`
	GroupList []string `json:"groupList,omitempty"`
	UserExp   string   `json:"userExp,omitempty"`
	GroupExp  string   `json:"groupExp,omitempty"`
}

// NewPlacementRules shows the rules of a partition: without any the one that takes the queue that the submission names
// (PLC-2), and last the recovery rule, which is always there.
func NewPlacementRules(rules []placement.Rule, recoveryQueue string) []PlacementRule {
	if len(rules) == 0 {
		rules = []placement.Rule{{Kind: placement.Provided}}
	}
	out := make([]PlacementRule, 0, len(rules)+1)
	for i := range rules {
		out = append(out, newPlacementRule(&rules[i]))
	}
	return append(out, PlacementRule{Name: "recovery", Parameters: map[string]string{"queue": recoveryQueue}})
}

func newPlacementRule(r *placement.Rule) PlacementRule {
	v := PlacementRule{Name: r.Kind.String(), Parameters: map[string]string{"create": strconv.FormatBool(r.Create)},
		Filter: newPlacementFilter(&r.Filter)}
	if name := r.Kind.Parameter(); name != "" {
		v.Parameters[name] = r.Value
	}
	if r.Parent != nil {
		parent := newPlacementRule(r.Parent)
		v.ParentRule = &parent
	}
	return v
}

// newPlacementFilter shows a filter; nil: it is for everyone.
func newPlacementFilter(f *placement.Filter) *PlacementFilter {
	v := PlacementFilter{Type: "allow", UserList: f.Users, GroupList: f.Groups, UserExp: textOfPattern(f.UserPattern),
		GroupExp: textOfPattern(f.GroupPattern)}
	if f.Deny {
		v.Type = "deny"
	} else if len(f.Users)+len(f.Groups) == 0 && f.UserPattern == nil && f.GroupPattern == nil {
		return nil
	}
	return &v
}

func textOfPattern(p *regexp.Regexp) string {
	if p == nil {
		return ""
	}
	return p.String()
}
