package usergroup

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Bounds of what a Source may say about one user.
const (
	mostGroups       = 4096
	longestGroupName = 1 << 10
)

// tidy puts groups in order, each once: a Source may list them in any. Names that cannot
// be shown to anybody are left out, for no access list can have them. The list is bounded
// because it is kept for each application.
func tidy(groups []string) ([]string, error) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g string) bool {
		return g == "" || len(g) > longestGroupName || !utf8.ValidString(g)
	})
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if len(groups) > mostGroups {
		return nil, fmt.Errorf("the user has %d groups, at most %d are allowed", len(groups), mostGroups)
	}
	return groups, nil
}
