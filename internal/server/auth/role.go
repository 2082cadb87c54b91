package auth

import (
	"fmt"
	"strings"
)

// Role says what an identity may do (SEC-5).
type Role string

// The roles. Read and Submit do not include each other.
const (
	Read   Role = "read"   // REST, metrics and event streams; changes nothing
	Submit Role = "submit" // the scheduler interface: registers as a resource manager
	Admin  Role = "admin"  // everything, the admin API included
)

var roles = []Role{Read, Submit, Admin}

// ParseRole reads the name of a role.
func ParseRole(text string) (Role, error) {
	for _, r := range roles {
		if string(r) == text {
			return r, nil
		}
	}
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return "", fmt.Errorf("role is %q: it is %s", shortened(text), strings.Join(names, ", "))
}

// includes reports whether r allows what needs another role.
func (r Role) includes(other Role) bool { return r == Admin || r == other }
