package placement

import (
	"fmt"
	"regexp"
	"slices"
)

// Filter restricts a rule to some users and groups (PLC-22 to PLC-26). The zero value passes every user.
type Filter struct {
	Deny          bool           // matching users and groups do not pass; otherwise those that do not match do not
	Users, Groups []string       // exact names
	UserPattern   *regexp.Regexp // unanchored; nil: none
	GroupPattern  *regexp.Regexp // unanchored; nil: none
}

// rejectReason says why the user of s does not pass the filter; empty: it passes.
func (f *Filter) rejectReason(s *Submission) string {
	matchesAll := len(f.Users) == 0 && len(f.Groups) == 0 && f.UserPattern == nil && f.GroupPattern == nil
	if matchesAll && !f.Deny || !matchesAll && f.matches(s) != f.Deny {
		return ""
	}
	return fmt.Sprintf("its filter is not for user %s", s.User.Name)
}

func (f *Filter) matches(s *Submission) bool {
	return slices.Contains(f.Users, s.User.Name) || f.UserPattern != nil && f.UserPattern.MatchString(s.User.Name) ||
		slices.ContainsFunc(f.Groups, func(g string) bool { return s.groups[g] }) ||
		f.GroupPattern != nil && slices.ContainsFunc(s.User.Groups, f.GroupPattern.MatchString)
}
