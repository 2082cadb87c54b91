package usergroup

import "fmt"

// Resolvers creates the Resolver of each partition of a process. It keeps no list of them: a Resolver that its
// partition has dropped is garbage.
type Resolvers struct {
	opt        Options
	secretsDir string
	osSource   *osSource // shared: a hanging call keeps a thread (ACL-38)
	lifetime   *lifetime
}

// NewResolvers returns the Resolvers of a process. secrets is the directory with the LDAP settings, which is read
// when a partition has the resolver ldap.
func NewResolvers(secrets string, opt Options) *Resolvers {
	return &Resolvers{opt: opt, secretsDir: secrets, osSource: newOSSource(osGroups), lifetime: newLifetime()}
}

// For returns the Resolver of a partition with this type of usergroupresolver: current, which the partition has now
// (nil: none), if its source is the same, otherwise a new one with an empty cache (ACL-34). nil without an error:
// the partition resolves no user, and users are alone in a group of their name (ACL-19). The LDAP settings are
// read each time.
//
// For has no side effect: the configuration may still be refused.
func (r *Resolvers) For(resolver string, current *Resolver) (*Resolver, error) {
	var source Source
	switch {
	case resolver == "":
		return nil, nil
	case r.opt.Source != nil:
		source = r.opt.Source
	case resolver == "os":
		source = r.osSource
	case resolver == "ldap":
		s, err := readSettings(r.secretsDir)
		if err != nil {
			return nil, err
		}
		source = ldapSource{s}
	default:
		return nil, fmt.Errorf("unknown user group resolver %q", resolver)
	}
	if current != nil && current.source == source {
		return current, nil
	}
	return newResolverWithLifetime(source, r.opt, r.lifetime), nil
}

// Close ends the lifetime of all Resolvers. After it has returned no callback is called.
func (r *Resolvers) Close() { r.lifetime.close() }
