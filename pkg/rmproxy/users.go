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
	// Known answers at once. ok is false when the user must be Found first; err says that
	// nobody can say. The groups are not changed by anybody.
	Known(user string) (groups []string, ok bool, err error)
	// Find asks, and tells then once, on another goroutine; never after its end. Somebody may
	// be asked about again before there is an answer.
	Find(user string, then func(groups []string, err error))
}

// Directories finds the Directory of each partition of a configuration by its name. A
// partition without one resolves nobody: users are alone in a group of their name. An
// error refuses the configuration, and others may refuse it later, so nothing must have
// changed by then. now are those in force, nil before the first: one that is still right is
// used on, with what it remembers. One that is not used on is forgotten here, but for the
// questions that it has still to answer.
type Directories func(conf *configs.Config, now map[string]Directory) (map[string]Directory, error)

// resolving are the Directories of a configuration, before it is in force.
func (p *Proxy) resolving(conf *configs.Config) (map[string]Directory, error) {
	if p.opt.Users == nil {
		return nil, nil
	}
	var now map[string]Directory
	if users := p.users.Load(); users != nil {
		now = *users
	}
	all, err := p.opt.Users(conf, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return all, nil
}

// knowing is the cluster together with the Directories of its users: a configuration is
// put in force with those it needs, whoever wants it, or not at all.
type knowing struct{ p *Proxy }

// Reload implements reload.Cluster. Whoever runs a Proxy has tried the Directories of the
// first configuration before; should they fail all the same, those who need them are told.
func (k knowing) Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error) {
	users, err := k.p.resolving(conf)
	switch {
	case err == nil:
	case k.p.users.Load() == nil:
		k.p.log.Error("users cannot be resolved", zap.Error(err))
		users = map[string]Directory{}
		for _, part := range conf.Partitions {
			if part.UserResolver != "" {
				users[part.Name] = unable{err}
			}
		}
	default:
		return 0, err
	}
	// Partitions that are added can be found before Reload returns, and those that go until
	// then. So all Directories are there meanwhile, of two for a partition the new one: an
	// application that is early is looked up, or refused, but never let in unresolved.
	former := k.p.users.Load()
	k.p.users.Store(together(former, users))
	if paused, err = k.p.cluster.Reload(ctx, conf); err != nil {
		k.p.users.Store(former)
		return 0, err
	}
	k.p.users.Store(&users)
	for _, part := range conf.Partitions {
		if part.UserResolver != "" && k.p.opt.Users == nil {
			k.p.log.Warn("users are not resolved: this door has no user directory",
				zap.String("partition", part.Name), zap.String("resolver", part.UserResolver))
		}
	}
	return paused, nil
}

// together are the Directories of two configurations, those of the latter first.
func together(former *map[string]Directory, latter map[string]Directory) *map[string]Directory {
	all := map[string]Directory{}
	if former != nil {
		maps.Copy(all, *former)
	}
	maps.Copy(all, latter)
	return &all
}

// directory is that of a partition; nil: there is none.
func (p *Proxy) directory(partition string) Directory { return (*p.users.Load())[partition] }

// unable is the Directory of whom nobody can be found in.
type unable struct{ err error }

func (u unable) Known(string) (groups []string, ok bool, err error) { return nil, true, u.err }
func (u unable) Find(string, func([]string, error))                 {}

// The owner of an application that must get in although nobody knows its user, and the
// group of one whose groups nobody knows (behaviour.md 4.5).
var nobody = security.User{Name: "nobody", Groups: []string{"nogroup"}}

// owner reads the user of an application. One that came with groups has these, and a
// name that a configuration could use; one that came without may have to be looked up in
// a Directory, which is returned then (behaviour.md 9.4).
func owner(u *si.UserGroupInformation, forced bool, in Directory) (user security.User, ask Directory, err error) {
	switch {
	case u.GetUser() == "" && forced:
		return nobody, nil, nil
	case u == nil:
		return security.User{}, nil, fmt.Errorf("no user information")
	}
	if err := checkPerson("user name", u.User); err != nil {
		return security.User{}, nil, err
	}
	if len(u.Groups) > security.MaxGroups {
		return security.User{}, nil, fmt.Errorf("user %q has %d groups, at most %d are allowed",
			clip(u.User), len(u.Groups), security.MaxGroups)
	}
	for _, g := range u.Groups {
		if err := checkPerson("group name", g); err != nil {
			return security.User{}, nil, err
		}
	}
	switch {
	case len(u.Groups) > 0 && !security.IsUserName(u.User):
		return security.User{}, nil, fmt.Errorf("invalid user name %q", clip(u.User))
	case len(u.Groups) > 0:
		return security.User{Name: u.User, Groups: slices.Clone(u.Groups)}, nil, nil
	case in == nil:
		return security.User{Name: u.User, Groups: []string{u.User}}, nil, nil
	}
	return security.User{Name: u.User}, in, nil
}

// checkPerson reports what is wrong with the name of a user or group.
func checkPerson(what, name string) error {
	if err := checkID(what, name); err != nil {
		return err
	}
	if !security.IsShowable(name) {
		return fmt.Errorf("%s has a control character: %q", what, clip(name))
	}
	return nil
}

// resolve completes an application with what a Directory says about its user. One that
// runs already is taken even when the Directory does not know.
func resolve(a *scheduler.AddApplication, groups []string, err error) {
	switch {
	case err == nil:
		a.User.Groups = groups
	case placement.IsForced(a.Tags):
		a.User.Groups = nobody.Groups
	default:
		a.Unresolved = fmt.Sprintf("user %q cannot be resolved: %s", clip(a.User.Name), err)
	}
}
