package usergroup

import "fmt"

// Resolvers makes those of a process. It does not know which are in use: one that is not
// is forgotten by whoever had it.
type Resolvers struct {
	opt        Options
	secretsDir string
	osSource   *osSource // one for all: a call that hangs keeps a thread
	lifetime   *lifetime
}

// NewResolvers returns the Directories of a process. secrets is the directory with the
// settings of LDAP, which is read when a partition wants LDAP.
func NewResolvers(secrets string, opt Options) *Resolvers {
	return &Resolvers{opt: opt, secretsDir: secrets, osSource: newOSSource(osGroups), lifetime: newLifetime()}
}

// For is the Directory of a partition with this type of usergroupresolver: now, which the
// partition has at this time, nil for none, if it is still the right one, and one without
// memory otherwise. nil without an error: the partition resolves nobody, users are alone in
// a group of their name. The settings of LDAP are read anew each time.
//
// Nothing changes by asking: a configuration that wants a Directory may be refused yet.
func (r *Resolvers) For(resolver string, current *Resolver) (*Resolver, error) {
	var source Source
	switch resolver {
	case "":
		return nil, nil
	case "os":
		source = r.osSource
	case "ldap":
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

// Close ends all Directories. When it returns, nobody is told anything any more.
func (r *Resolvers) Close() { r.lifetime.close() }
