package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
)

// Options say what an Authenticator accepts.
type Options struct {
	// Credentials are the identities of a file; nil: every certificate that the authority has signed is an identity.
	Credentials *Credentials
	// AnonymousRead lets clients without credentials do what needs the role Read.
	AnonymousRead bool
	// AnonymousMetrics lets clients without credentials read the metrics.
	AnonymousMetrics bool
}

// Authenticator decides what clients may do. It is safe for concurrent use. A nil Authenticator accepts everything,
// and knows no identity.
type Authenticator struct {
	opt         Options
	credentials atomic.Pointer[Credentials]
	counts      Counts

	mu   sync.Mutex
	live map[*liveCall]struct{} // requests and calls of known identities that are being served
}

// liveCall is a request or a call that is being served.
type liveCall struct {
	client   Client
	identity *Identity
	cancel   context.CancelCauseFunc
}

// New returns an Authenticator.
func New(opt Options) *Authenticator {
	a := &Authenticator{opt: opt, live: map[*liveCall]struct{}{}}
	a.credentials.Store(opt.Credentials)
	return a
}

// Counts returns the refusals since the start; nil for a nil Authenticator.
func (a *Authenticator) Counts() *Counts {
	if a == nil {
		return nil
	}
	return &a.counts
}

// AnonymousMetrics reports whether metrics need no credentials.
func (a *Authenticator) AnonymousMetrics() bool { return a == nil || a.opt.AnonymousMetrics }

// Client holds what a client has shown.
type Client struct {
	Authorization []string             // the values of the header or metadata authorization
	TLS           *tls.ConnectionState // of its connection; nil: without TLS
}

// Authorize returns the identity of a client that may do what needs a role (SEC-3, SEC-5). The identity is nil if the
// client has shown no credentials and needs none. Errors: ErrUnauthenticated, ErrForbidden.
func (a *Authenticator) Authorize(c Client, needed Role) (*Identity, error) {
	if a == nil {
		return nil, nil
	}
	i, err := a.identify(c)
	switch r, _ := err.(*refusal); {
	case r != nil && r.reason == Missing && needed == Read && a.opt.AnonymousRead:
		return nil, nil
	case r != nil:
		a.counts.Note(r.reason)
		return nil, err
	case !i.Allows(needed):
		a.counts.Note(RoleMissing)
		return i, fmt.Errorf("%w: %s has the role %s, and this needs %s", ErrForbidden, i.Name, i.rolesText(), needed)
	}
	return i, nil
}

// identify finds the identity of a client. Its token decides, and without a token its certificate. The error is a
// refusal.
func (a *Authenticator) identify(c Client) (*Identity, error) {
	credentials := a.credentials.Load()
	token, err := tokenOf(c.Authorization)
	switch {
	case err != nil:
		return nil, err
	case token != "":
		if credentials != nil {
			if i := credentials.findToken(token); i != nil {
				return i, nil
			}
		}
		return nil, &refusal{Unknown, "the token is unknown"}
	}
	leaf := verifiedLeaf(c.TLS)
	if leaf == nil {
		return nil, &refusal{Missing, "send a token (authorization: Bearer TOKEN), or use a client certificate"}
	}
	names := certificateNames(leaf)
	switch {
	case credentials != nil:
		if i := credentials.findCertificate(names); i != nil {
			return i, nil
		}
		return nil, &refusal{Unknown, fmt.Sprintf("the certificate of %s is unknown", firstName(names))}
	case len(names) == 0:
		return nil, &refusal{Unknown, "the certificate has no DNS name, URI or common name"}
	}
	return &Identity{Name: names[0], Roles: []Role{Read, Submit}, RMs: names}, nil
}

// verifiedLeaf returns the certificate of a client if the authority of the clients has signed it; else nil.
func verifiedLeaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// certificateNames returns the DNS names and URIs of a certificate, or without any its common name (SEC-8). A name that
// cannot be shown is left out.
func certificateNames(c *x509.Certificate) (names []string) {
	add := func(name string) {
		if CheckName("", name, maxRMID) == nil {
			names = append(names, name)
		}
	}
	for _, name := range c.DNSNames {
		add(name)
	}
	for _, u := range c.URIs {
		add(u.String())
	}
	if len(c.DNSNames)+len(c.URIs) == 0 {
		add(c.Subject.CommonName)
	}
	return names
}

func firstName(names []string) string {
	if len(names) == 0 {
		return "a client without a name"
	}
	return names[0]
}

// Serve returns the context of a request or a call of an identity. It ends when the credentials of the client are
// withdrawn (SEC-9), and the caller must call done when the request has been served. An error means that they have been
// withdrawn already.
func (a *Authenticator) Serve(ctx context.Context, c Client, i *Identity) (served context.Context, done func(),
	err error) {
	if a == nil || i == nil {
		return ctx, func() {}, nil
	}
	call := &liveCall{client: c, identity: i}
	served, call.cancel = context.WithCancelCause(NewContext(ctx, i))
	a.mu.Lock()
	a.live[call] = struct{}{}
	withdrawn := a.withdrawn(call)
	a.mu.Unlock()
	done = func() {
		a.mu.Lock()
		delete(a.live, call)
		a.mu.Unlock()
		call.cancel(nil)
	}
	if withdrawn { // between Authorize and here
		done()
		return nil, nil, errWithdrawn
	}
	return served, done, nil
}

// withdrawn reports whether the client of a call is not the same identity any more.
func (a *Authenticator) withdrawn(call *liveCall) bool {
	now, err := a.identify(call.client)
	return err != nil || !now.equal(call.identity)
}

// SetCredentials puts other credentials in force, and ends the requests and calls of clients that are not the same
// identity any more.
func (a *Authenticator) SetCredentials(c *Credentials) {
	a.credentials.Store(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	for call := range a.live {
		if a.withdrawn(call) {
			call.cancel(errWithdrawn)
		}
	}
}
