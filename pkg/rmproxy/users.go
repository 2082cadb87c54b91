package rmproxy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Directory resolves the groups of users, for applications of one partition that come without
// groups. It is safe for concurrent use.
type Directory interface {
	// Cached returns at once. ok is false when the user must be resolved first; err means that
	// the user cannot be resolved. The caller must not change the groups.
	Cached(user string) (groups []string, ok bool, err error)
	// Resolve looks the user up and calls then once, on another goroutine; never after the
	// Directory has been closed. A user may be looked up again before the first answer.
	Resolve(user string, then func(groups []string, err error))
}

// Directories returns the Directory of each partition of a configuration by its name. A partition
// without one resolves no user: each user has one group of the same name. An error refuses the
// configuration. The configuration may still be refused later, so Directories must have no other
// effect. now are the Directories in force, nil before the first; one whose settings are
// unchanged is used again, with its cache. One that is not used again only finishes its lookups.
type Directories func(conf *configs.Config, now map[string]Directory) (map[string]Directory, error)

// newDirectories returns the Directories of a configuration before it is in force.
func (p *Proxy) newDirectories(conf *configs.Config) (map[string]Directory, error) {
	if p.opt.Directories == nil {
		return nil, nil
	}
	var current map[string]Directory
	if users := p.directories.Load(); users != nil {
		current = *users
	}
	all, err := p.opt.Directories(conf, current)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return all, nil
}

// clusterWithResolvers is the cluster with the Directories of its partitions: a configuration and
// its Directories come into force together or not at all.
type clusterWithResolvers struct{ p *Proxy }

// Reload implements reload.Cluster (ACL-34, ACL-35, ACL-36, CFG-110). The Directories of the
// initial configuration were checked before; if they fail nevertheless, applications that need them
// are rejected.
func (k clusterWithResolvers) Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error) {
	directories, err := k.p.newDirectories(conf)
	switch {
	case err == nil:
	case k.p.directories.Load() == nil:
		k.p.log.Error("users cannot be resolved", zap.Error(err))
		directories = map[string]Directory{}
		for _, part := range conf.Partitions {
			if part.UserGroupResolver != "" {
				directories[part.Name] = failingDirectory{err}
			}
		}
	default:
		return 0, err
	}
	// A partition that is added can be found before Reload returns, and one that is removed until
	// then. So the Directories of both configurations are in force meanwhile, with the new one
	// first: an early application is resolved or rejected, but never accepted unresolved.
	previous := k.p.directories.Load()
	k.p.directories.Store(mergeDirectories(previous, directories))
	if paused, err = k.p.cluster.Reload(ctx, conf); err != nil {
		k.p.directories.Store(previous)
		return 0, err
	}
	k.p.directories.Store(&directories)
	for _, part := range conf.Partitions {
		if part.UserGroupResolver != "" && k.p.opt.Directories == nil {
			k.p.log.Warn("users are not resolved: there is no user directory",
				zap.String("partition", part.Name), zap.String("resolver", part.UserGroupResolver))
		}
	}
	return paused, nil
}

// mergeDirectories returns the Directories of two configurations; those of next take precedence
// (ACL-35).
func mergeDirectories(previous *map[string]Directory, next map[string]Directory) *map[string]Directory {
	all := map[string]Directory{}
	if previous != nil {
		maps.Copy(all, *previous)
	}
	maps.Copy(all, next)
	return &all
}

// directory is the Directory of a partition; nil: none (ACL-18).
func (p *Proxy) directory(partition string) Directory { return (*p.directories.Load())[partition] }

// failingDirectory is a Directory that cannot resolve any user.
type failingDirectory struct{ err error }

func (u failingDirectory) Cached(string) (groups []string, ok bool, err error) {
	return nil, true, u.err
}
func (u failingDirectory) Resolve(string, func([]string, error)) {}

// userNobody owns a forced application without a user; its group is that of a forced application
// whose user cannot be resolved (ACL-23).
var userNobody = security.User{Name: "nobody", Groups: []string{"nogroup"}}

// readUser reads the user of an application (ACL-16, ACL-19, ACL-21, ACL-23, ACL-36, APP-21,
// APP-22, APP-25). A user with groups must have a valid name; a user without may have to be
// resolved by a Directory, which is returned then (ACL-17, ACL-18).
func readUser(u *si.UserGroupInformation, forced bool, directory Directory) (user security.User, lookup Directory, err error) {
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
		a.Unresolved = fmt.Sprintf("user %q cannot be resolved: %s", truncate(a.User.Name), err)
	}
}
