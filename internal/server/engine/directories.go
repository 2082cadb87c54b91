package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// ErrConfig is the error of a configuration that is not valid here.
var ErrConfig = errors.New("invalid configuration")

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

// Directory is the Directory of a partition; nil: none (ACL-18).
func (e *Engine) Directory(partition string) Directory { return (*e.directories.Load())[partition] }

// CheckDirectories is an error that wraps ErrConfig if the Directories of a configuration cannot be used.
func (e *Engine) CheckDirectories(conf *configs.Config) error {
	_, err := e.newDirectories(conf)
	return err
}

// newDirectories returns the Directories of a configuration before it is in force.
func (e *Engine) newDirectories(conf *configs.Config) (map[string]Directory, error) {
	if e.opt.Directories == nil {
		return nil, nil
	}
	var current map[string]Directory
	if users := e.directories.Load(); users != nil {
		current = *users
	}
	all, err := e.opt.Directories(conf, current)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return all, nil
}

// configured puts configurations in force, with the Directories of their partitions. It implements
// reload.Cluster.
type configured struct{ e *Engine }

// Config is the configuration in force; nil before the first.
func (k configured) Config() *configs.Config { return k.e.cluster.Config() }

// Reload implements reload.Cluster (ACL-34, ACL-35, ACL-36, CFG-110). The Directories of the
// initial configuration were checked before; if they fail nevertheless, applications that need them
// are rejected.
func (k configured) Reload(ctx context.Context, conf *configs.Config) (paused time.Duration, err error) {
	e := k.e
	directories, err := e.newDirectories(conf)
	switch {
	case err == nil:
	case e.directories.Load() == nil:
		e.log.Error("users cannot be resolved", zap.Error(err))
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
	previous := e.directories.Load()
	e.directories.Store(mergeDirectories(previous, directories))
	if paused, err = e.cluster.Reload(ctx, conf); err != nil {
		e.directories.Store(previous)
		return 0, err
	}
	e.directories.Store(&directories)
	for _, part := range conf.Partitions {
		if part.UserGroupResolver != "" && e.opt.Directories == nil {
			e.log.Warn("users are not resolved: there is no user directory",
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

// failingDirectory is a Directory that cannot resolve any user.
type failingDirectory struct{ err error }

func (u failingDirectory) Cached(string) (groups []string, ok bool, err error) {
	return nil, true, u.err
}
func (u failingDirectory) Resolve(string, func([]string, error)) {}
