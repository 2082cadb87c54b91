package canopy

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// directoriesOf returns a function that finds the user directories of a configuration, by partition.
// Its error names the missing or malformed settings of every partition (ACL-40).
func directoriesOf(users *usergroup.Resolvers) engine.Directories {
	return func(conf *configs.Config, now map[string]engine.Directory) (map[string]engine.Directory, error) {
		all := map[string]engine.Directory{}
		var failed []error
		for _, p := range conf.Partitions {
			former, _ := now[p.Name].(*usergroup.Resolver) // nil: the partition has none
			d, err := users.For(p.UserGroupResolver, former)
			switch {
			case err != nil:
				failed = append(failed, fmt.Errorf("partition %s: usergroupresolver %s: %w", p.Name, p.UserGroupResolver, err))
			case d != nil:
				all[p.Name] = d
			}
		}
		return all, errors.Join(failed...)
	}
}

// lookupSource finds groups by Users.Lookup. It implements usergroup.Source.
type lookupSource struct {
	lookup func(ctx context.Context, user string) (groups []string, err error)
}

// Groups is part of usergroup.Source.
func (s *lookupSource) Groups(ctx context.Context, user string) ([]string, error) {
	return s.lookup(ctx, user)
}

// String is part of usergroup.Source.
func (s *lookupSource) String() string { return "the user lookup of the program" }
