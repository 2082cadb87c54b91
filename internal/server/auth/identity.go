package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Identity is a client that is known. It is immutable.
type Identity struct {
	Name  string   // of the entry of the credentials, or of the certificate
	Roles []Role   // at least one
	RMs   []string // the IDs as which it may register; nil: any
}

// Anonymous is the name of a client in audit lines if no credentials are required, or none were given.
const Anonymous = "anonymous"

// Allows reports whether the identity may do what needs a role.
func (i *Identity) Allows(needed Role) bool {
	return slices.ContainsFunc(i.Roles, func(r Role) bool { return r.includes(needed) })
}

// rolesText lists the roles, for errors.
func (i *Identity) rolesText() string {
	names := make([]string, len(i.Roles))
	for n, r := range i.Roles {
		names[n] = string(r)
	}
	return strings.Join(names, " and ")
}

// equal reports whether two identities may do the same under the same name.
func (i *Identity) equal(other *Identity) bool {
	return i.Name == other.Name && slices.Equal(i.Roles, other.Roles) && slices.Equal(i.RMs, other.RMs)
}

// CheckRM returns an error if the client of a call may not use an ID of a resource manager (SEC-7). A context without
// an identity has no bound: no credentials are required there.
func CheckRM(ctx context.Context, rm string) error {
	i := FromContext(ctx)
	if i == nil || i.RMs == nil || slices.Contains(i.RMs, rm) {
		return nil
	}
	return fmt.Errorf("%w: %s may not use the rmID %q: it is bound to %s", ErrForbidden, i.Name, shortened(rm),
		strings.Join(i.RMs, ", "))
}

type identityKey struct{}

// NewContext returns a context with the identity of its client; nil: it is not known.
func NewContext(ctx context.Context, i *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// FromContext returns the identity of the client; nil: it is not known, because no credentials are required.
func FromContext(ctx context.Context) *Identity {
	i, _ := ctx.Value(identityKey{}).(*Identity)
	return i
}

// NameFromContext returns the name of the client for audit lines.
func NameFromContext(ctx context.Context) string {
	if i := FromContext(ctx); i != nil {
		return i.Name
	}
	return Anonymous
}

// maxShown bounds the bytes of a client's text that errors and log lines repeat.
const maxShown = 100

func shortened(text string) string {
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
