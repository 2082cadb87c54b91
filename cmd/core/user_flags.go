package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/engine"
	"github.com/canopy-scheduler/canopy/internal/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// userFlags are the flags of the user group resolvers (ACL-31).
type userFlags struct {
	secrets string
	timeout time.Duration
}

func (f *userFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.secrets, "ldap-secrets", usergroup.DefaultSecretsDir,
		"directory with the settings of the ldap resolver, one file each")
	flags.DurationVar(&f.timeout, "user-lookup-timeout", usergroup.DefaultTimeout,
		"how long an application waits for the groups of its user")
}

func (f *userFlags) check() error {
	switch {
	case f.timeout <= 0:
		return fmt.Errorf("--user-lookup-timeout: %s is not above zero", f.timeout)
	case f.secrets == "":
		return errors.New("--ldap-secrets: no directory")
	}
	return nil
}

func (f *userFlags) open() *usergroup.Resolvers {
	return usergroup.NewResolvers(f.secrets, usergroup.Options{Timeout: f.timeout})
}

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
