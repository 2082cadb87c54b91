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

// Directory knows the groups of users, for the applications of one partition that come
// without (behaviour.md 9.4). It is asked from many goroutines.
type Directory interface {
	// Cached answers at once. ok is false when the user must be Found first; err says that
	// nobody can say. The groups are not changed by anybody.
	Cached(user string) (groups []string, ok bool, err error)
	// Resolve asks, and tells then once, on another goroutine; never after its end. Somebody may
	// be asked about again before there is an answer.
	Resolve(user string, then func(groups []string, err error))
}

// Directories finds the Directory of each partition of a configuration by its name. A
// partition without one resolves nobody: users are alone in a group of their name. An
// error refuses the configuration, and others may refuse it later, so nothing must have
// changed by then. now are those in force, nil before the first: one that is still right is
// used on, with what it remembers. One that is not used on is forgotten here, but for the
// questions that it has still to answer.
type Directories func(conf *configs.Config, now map[string]Directory) (map[string]Directory, error)

// newDirectories are the Directories of a configuration, before it is in force.
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

// clusterWithResolvers is the cluster together with the Directories of its users: a configuration is
// put in force with those it needs, whoever wants it, or not at all.
type clusterWithResolvers struct{ p *Proxy }

// Reload implements reload.Cluster. Whoever runs a Proxy has tried the Directories of the
// first configuration before; should they fail all the same, those who need them are told.
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
	// Partitions that are added can be found before Reload returns, and those that go until
	// then. So all Directories are there meanwhile, of two for a partition the new one: an
	// application that is early is looked up, or refused, but never let in unresolved.
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

// mergeDirectories are the Directories of two configurations, those of the latter first.
func mergeDirectories(previous *map[string]Directory, next map[string]Directory) *map[string]Directory {
	all := map[string]Directory{}
	if previous != nil {
		maps.Copy(all, *previous)
	}
	maps.Copy(all, next)
	return &all
}

// directory is that of a partition; nil: there is none.
func (p *Proxy) directory(partition string) Directory { return (*p.directories.Load())[partition] }

// failingDirectory is the Directory of whom nobody can be found in.
type failingDirectory struct{ err error }

func (u failingDirectory) Cached(string) (groups []string, ok bool, err error) {
	return nil, true, u.err
}
func (u failingDirectory) Resolve(string, func([]string, error)) {}

// The owner of an application that must get in although nobody knows its user, and the
// group of one whose groups nobody knows (behaviour.md 4.5).
var userNobody = security.User{Name: "nobody", Groups: []string{"nogroup"}}

// readUser reads the user of an application. One that came with groups has these, and a
// name that a configuration could use; one that came without may have to be looked up in
// a Directory, which is returned then (behaviour.md 9.4).
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

// checkUserOrGroup reports what is wrong with the name of a user or group.
func checkUserOrGroup(what, name string) error {
	if err := checkID(what, name); err != nil {
		return err
	}
	if !security.IsPrintable(name) {
		return fmt.Errorf("%s has a control character: %q", what, truncate(name))
	}
	return nil
}

// setGroups completes an application with what a Directory says about its user. One that
// runs already is taken even when the Directory does not know.
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
