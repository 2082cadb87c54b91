package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// userFlags are the flags of the user group resolvers (ACL-31).
type userFlags struct{ canopy.Users }

func (f *userFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.LDAPSecrets, "ldap-secrets", usergroup.DefaultSecretsDir,
		"directory with the settings of the ldap resolver, one file each")
	flags.DurationVar(&f.LookupTimeout, "user-lookup-timeout", usergroup.DefaultTimeout,
		"how long an application waits for the groups of its user")
}

func (f *userFlags) check() error {
	if f.LookupTimeout <= 0 {
		return fmt.Errorf("--user-lookup-timeout: %s is not above zero", f.LookupTimeout)
	}
	return nil
}
