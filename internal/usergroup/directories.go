package usergroup

import "fmt"

// Directories makes those of a process. It does not know which are in use: one that is not
// is forgotten by whoever had it.
type Directories struct {
	opt     Options
	secrets string
	system  *system // one for all: a call that hangs keeps a thread
	life    *life
}

// NewDirectories returns the Directories of a process. secrets is the directory with the
// settings of LDAP, which is read when a partition wants LDAP.
func NewDirectories(secrets string, opt Options) *Directories {
	return &Directories{opt: opt, secrets: secrets, system: newSystem(groupsOf), life: newLife()}
}

// For is the Directory of a partition with this type of usergroupresolver: now, which the
// partition has at this time, nil for none, if it is still the right one, and one without
// memory otherwise. nil without an error: the partition resolves nobody, users are alone in
// a group of their name. The settings of LDAP are read anew each time.
//
// Nothing changes by asking: a configuration that wants a Directory may be refused yet.
func (x *Directories) For(resolver string, now *Directory) (*Directory, error) {
	var source Source
	switch resolver {
	case "":
		return nil, nil
	case "os":
		source = x.system
	case "ldap":
		s, err := readSettings(x.secrets)
		if err != nil {
			return nil, err
		}
		source = directoryServer{s}
	default:
		return nil, fmt.Errorf("unknown user group resolver %q", resolver)
	}
	if now != nil && now.source == source {
		return now, nil
	}
	return newDirectory(source, x.opt, x.life), nil
}

// Close ends all Directories. When it returns, nobody is told anything any more.
func (x *Directories) Close() { x.life.close() }
