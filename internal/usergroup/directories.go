package usergroup

import (
	"fmt"
	"sync"
)

// Directories are those of all partitions, each with its own memory.
type Directories struct {
	opt     Options
	secrets string

	mu  sync.Mutex
	all map[place]*Directory
}

// place is a partition with a resolver. When a partition changes its resolver, questions
// to the old one are still answered.
type place struct{ partition, resolver string }

// NewDirectories returns the Directories of a process. secrets is the directory with the
// settings of LDAP, which is read when a partition wants LDAP.
func NewDirectories(secrets string, opt Options) *Directories {
	return &Directories{opt: opt, secrets: secrets, all: map[place]*Directory{}}
}

// For is the Directory of a partition with this type of usergroupresolver. nil without an
// error: the partition resolves nobody, users are alone in a group of their name. The
// settings of LDAP are read anew each time; what was remembered is forgotten when they
// have changed.
func (x *Directories) For(partition, resolver string) (*Directory, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := place{partition, resolver}
	d := x.all[at]
	var source Source
	switch resolver {
	case "":
		return nil, nil
	case "os":
		if d != nil {
			return d, nil
		}
		source = newSystem(groupsOf)
	case "ldap":
		s, err := readSettings(x.secrets)
		if err != nil {
			return nil, err
		}
		source = directoryServer{s}
	default:
		return nil, fmt.Errorf("unknown user group resolver %q", resolver)
	}
	if d == nil {
		d = NewDirectory(source, x.opt)
		x.all[at] = d
	}
	d.use(source)
	return d, nil
}

// Close closes all Directories.
func (x *Directories) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range x.all {
		d.Close()
	}
}
