package webservice

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

// openPaths need no credentials: they have no state of the scheduler.
var openPaths = slices.Clone(Liveness)

// metricsPaths are those that Options.Auth may open for scrapes.
var metricsPaths = []string{"/metrics", "/ws/v1/metrics"}

// authenticated serves requests of clients that may have the answer (SEC-3, SEC-10), with the security headers. needed
// is the role for everything but what is open.
func (s *service) authenticated(needed auth.Role, next http.Handler) http.Handler {
	return httpserver.WithSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opt.Auth == nil || s.isOpen(r) || s.isPrivateSocket() {
			next.ServeHTTP(w, r)
			return
		}
		client := auth.Client{Authorization: r.Header.Values("Authorization"), TLS: r.TLS}
		i, err := s.opt.Auth.Authorize(client, needed)
		if err == nil {
			ctx, done, withdrawn := s.opt.Auth.Serve(r.Context(), client, i)
			if withdrawn == nil {
				defer done()
				next.ServeHTTP(w, r.WithContext(ctx))
				return
			}
			err = withdrawn
		}
		auth.LogRefusal(s.opt.Log, peerOf(r), r.Method+" "+r.URL.Path, err)
		s.fail(w, r, accessFailure(w, err))
	}))
}

// ReadAccess serves next to the clients that Handler serves.
func ReadAccess(opt Options, next http.Handler) http.Handler {
	return newService(nil, opt).authenticated(auth.Read, next)
}

// AdminAccess serves next to the clients that Admin serves.
func AdminAccess(opt Options, next http.Handler) http.Handler {
	s := newService(nil, opt)
	s.adminListener = true
	return s.adminOnly(next)
}

// adminOnly serves next to clients that may change the scheduler.
func (s *service) adminOnly(next http.Handler) http.Handler {
	next = s.authenticated(auth.Admin, next)
	if s.opt.RemoteAdmin {
		return next
	}
	return s.localOnly(next)
}

// isOpen reports whether a request needs no credentials. A preflight request of a browser never has any.
func (s *service) isOpen(r *http.Request) bool {
	switch {
	case r.Method == http.MethodOptions, slices.Contains(openPaths, r.URL.Path):
		return true
	}
	return s.opt.Auth.AnonymousMetrics() && slices.Contains(metricsPaths, r.URL.Path)
}

// isPrivateSocket reports whether the clients of the listener need no credentials, because only the user of the process
// can connect to it (SEC-11). A setting says so: the addresses of a connection do not.
func (s *service) isPrivateSocket() bool { return s.adminListener && s.opt.AdminSocket }

// accessFailure is the answer to a request without sufficient credentials.
func accessFailure(w http.ResponseWriter, err error) error {
	if errors.Is(err, auth.ErrForbidden) {
		return refusal(http.StatusForbidden, "%v", err)
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="canopy"`)
	// a browser asks for it: the token is the password
	w.Header().Add("WWW-Authenticate", `Basic realm="canopy", charset="UTF-8"`)
	return refusal(http.StatusUnauthorized, "%v", err)
}

// socketIdentity is the name of clients of the admin socket in audit lines.
const socketIdentity = "socket"

// identityOf returns the name of the client of a request, for audit lines.
func (s *service) identityOf(r *http.Request) string {
	if i := auth.FromContext(r.Context()); i != nil {
		return i.Name
	}
	if s.isPrivateSocket() {
		return socketIdentity
	}
	return auth.Anonymous
}

// peerOf is the address of the client of a request.
func peerOf(r *http.Request) string {
	if _, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return r.RemoteAddr
	}
	return socketIdentity
}

// audit logs a change that was requested over REST, or its refusal (SEC-12).
func (s *service) audit(r *http.Request, err error) {
	c := auth.Change{Identity: s.identityOf(r), Peer: peerOf(r), Action: r.Method + " " + r.URL.Path, Err: err}
	// an action of an operator changes no configuration
	if err == nil && s.opt.Reloads != nil && !strings.HasPrefix(r.URL.Path, "/ws/v1/partition/") {
		c.Result = fmt.Sprintf("generation %d is in force", s.opt.Reloads.Current().Number)
	}
	auth.Audit(s.opt.Log, c)
}
