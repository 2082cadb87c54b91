package usergroup

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maxGroupNameLength is the limit of names in bytes, as for names that clients send (ACL-21).
const maxGroupNameLength = 1 << 10

// normalizeGroups sorts groups and removes duplicates (ACL-32). Names that are empty, too long or not printable
// are left out: no access list can have them. Too many groups are an error.
func normalizeGroups(groups []string) ([]string, error) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g string) bool {
		return g == "" || len(g) > maxGroupNameLength || !security.IsPrintable(g)
	})
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if len(groups) > security.MaxGroups {
		return nil, fmt.Errorf("the user has %d groups, at most %d are allowed", len(groups), security.MaxGroups)
	}
	return groups, nil
}
