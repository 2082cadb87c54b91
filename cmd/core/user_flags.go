package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
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
	if f.timeout <= 0 {
		return fmt.Errorf("--user-lookup-timeout: %s is not above zero", f.timeout)
	}
	return nil
}
