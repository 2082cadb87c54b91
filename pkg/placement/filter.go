package placement

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Filter restricts a rule to some users and groups (PLC-22 to PLC-26). The zero value passes every user.
type Filter struct {
	Deny          bool           // matching users and groups do not pass, instead of those that do not match
	Users, Groups []string       // exact names
	UserPattern   *regexp.Regexp // unanchored; nil: none
	GroupPattern  *regexp.Regexp // unanchored; nil: none
}

// rejectReason is why u does not pass the filter; empty: u passes.
func (f *Filter) rejectReason(u security.User) string {
	matchesAll := len(f.Users) == 0 && len(f.Groups) == 0 && f.UserPattern == nil && f.GroupPattern == nil
	if matchesAll && !f.Deny || !matchesAll && f.matches(u) != f.Deny {
		return ""
	}
	return fmt.Sprintf("its filter is not for user %s", u.Name)
}

func (f *Filter) matches(u security.User) bool {
	if slices.Contains(f.Users, u.Name) || f.UserPattern != nil && f.UserPattern.MatchString(u.Name) {
		return true
	}
	return slices.ContainsFunc(u.Groups, func(g string) bool {
		return slices.Contains(f.Groups, g) || f.GroupPattern != nil && f.GroupPattern.MatchString(g)
	})
}
