package rmproxy

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// userNobody owns a forced application without a user; its group is that of a forced application
// whose user cannot be resolved (ACL-23).
var userNobody = security.User{Name: "nobody", Groups: []string{"nogroup"}}

// readUser reads the user of an application (ACL-16, ACL-19, ACL-21, ACL-23, ACL-36, APP-21,
// APP-22, APP-25). A user with groups must have a valid name; a user without may have to be
// resolved by a Directory, which is returned then (ACL-17, ACL-18).
func readUser(u *si.UserGroupInformation, forced bool, directory engine.Directory) (user security.User,
	lookup engine.Directory, err error) {
	switch {
	case u.GetUser() == "" && forced:
		return userNobody, nil, nil
	case u == nil:
		return security.User{}, nil, fmt.Errorf("no user information")
	}
	if err := checkUserOrGroup("user name", u.User); err != nil {
		return security.User{}, nil, err
	}
	if len(u.Groups) > security.MaxGroups {
		return security.User{}, nil, fmt.Errorf("user %q has %d groups, at most %d are allowed",
			truncate(u.User), len(u.Groups), security.MaxGroups)
	}
	for _, g := range u.Groups {
		if err := checkUserOrGroup("group name", g); err != nil {
			return security.User{}, nil, err
		}
	}
	switch {
	case len(u.Groups) > 0 && !security.IsUserName(u.User):
		return security.User{}, nil, fmt.Errorf("invalid user name %q", truncate(u.User))
	case len(u.Groups) > 0:
		return security.User{Name: u.User, Groups: slices.Clone(u.Groups)}, nil, nil
	case directory == nil:
		return security.User{Name: u.User, Groups: []string{u.User}}, nil, nil
	}
	return security.User{Name: u.User}, directory, nil
}

// checkUserOrGroup checks the name of a user or group (ACL-20, APP-21).
func checkUserOrGroup(what, name string) error {
	if err := checkID(what, name); err != nil {
		return err
	}
	if !security.IsPrintable(name) {
		return fmt.Errorf("%s has a control character: %q", what, truncate(name))
	}
	return nil
}

// setGroups sets the groups that a Directory returned (ACL-22, ACL-23, APP-22, APP-24). A forced
// application is accepted even if its user cannot be resolved.
func setGroups(a *scheduler.AddApplication, groups []string, err error) {
	switch {
	case err == nil:
		a.User.Groups = groups
	case placement.IsCreateForced(a.Tags):
		a.User.Groups = userNobody.Groups
	default:
		a.Refused = fmt.Sprintf("user %q cannot be resolved: %s", truncate(a.User.Name), err)
	}
}
