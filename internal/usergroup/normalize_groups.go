package usergroup

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maxGroupNameLength is how long names may be at the doors, too.
const maxGroupNameLength = 1 << 10

// normalizeGroups puts groups in order, each once: a Source may list them in any. Names that cannot
// be shown to anybody are left out, for no access list can have them.
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
