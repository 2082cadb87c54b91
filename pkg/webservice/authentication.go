package webservice

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/auth"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
)

// openPaths need no credentials: they have no state of the scheduler.
var openPaths = slices.Clone(Liveness)

// metricsPaths are those that Options.Auth may open for scrapes.
var metricsPaths = []string{"/metrics", "/ws/v1/metrics"}

// authenticated serves requests of clients that may have the answer (SEC-3, SEC-10), with the security headers. needed is
// the role for everything but what is open.
func (s *service) authenticated(needed auth.Role, next http.Handler) http.Handler {
	return httpserver.WithSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opt.Auth == nil || s.isOpen(r) || s.isPrivateSocket(r) {
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

// isOpen reports whether a request needs no credentials. A preflight request of a browser never has any.
func (s *service) isOpen(r *http.Request) bool {
	switch {
	case r.Method == http.MethodOptions, slices.Contains(openPaths, r.URL.Path):
		return true
	}
	return s.opt.Auth.AnonymousMetrics() && slices.Contains(metricsPaths, r.URL.Path)
}

// isPrivateSocket reports whether a request came over the Unix socket of the admin listener, which only the user of the
// process can open (SEC-11).
func (s *service) isPrivateSocket(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return s.adminListener && local != nil && local.Network() == "unix"
}

// accessFailure is the answer to a request without sufficient credentials.
func accessFailure(w http.ResponseWriter, err error) error {
	if errors.Is(err, auth.ErrForbidden) {
		return &failure{status: http.StatusForbidden, reason: err.Error()}
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="canopy"`)
	w.Header().Add("WWW-Authenticate", `Basic realm="canopy", charset="UTF-8"`) // a browser asks for it: the token is the password
	return &failure{status: http.StatusUnauthorized, reason: err.Error()}
}

// socketIdentity is the name of clients of the admin socket in audit lines.
const socketIdentity = "socket"

// identityOf is the name of the client of a request, for audit lines and the history.
func identityOf(r *http.Request) string {
	if i := auth.FromContext(r.Context()); i != nil {
		return i.Name
	}
	if peerOf(r) == socketIdentity {
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
	c := auth.Change{Identity: identityOf(r), Peer: peerOf(r), Action: r.Method + " " + r.URL.Path, Err: err}
	if err == nil && s.opt.Reloads != nil && !strings.HasPrefix(r.URL.Path, "/ws/v1/partition/") { // an action of an operator changes no configuration
		c.Result = fmt.Sprintf("generation %d is in force", s.opt.Reloads.Current().Number)
	}
	auth.Audit(s.opt.Log, c)
}
