package webservice

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Admin serves what Handler does and, besides, the requests that change the scheduler: the
// configuration, priority classes, disruption budgets and registrations of resource managers.
// With Options.Auth a client needs the role admin, except with Options.AdminSocket. Without it every client
// that reaches it may do everything, so it belongs on a loopback address or a socket. Against web
// pages that a browser of the same machine shows, the Host of a request must be a local one (DNS
// rebinding) unless opt.RemoteAdmin is set, its Content-Type must be one that no form can send, and
// cross-origin requests are refused.
// Requires: opt.Reloads is not nil. (OBS-75 to OBS-78)
func Admin(c *loop.Cluster, opt Options) http.Handler {
	opt.Origins = nil
	s := newService(c, opt)
	s.adminListener = true
	mux := s.mux()
	return s.adminOnly(withoutTrailingSlash(mux, s.answersEnded(s.checkQuery(mux))))
}

// yamlContentTypes are the media types that are accepted as YAML.
var yamlContentTypes = []string{"application/yaml", "application/x-yaml", "text/yaml"}

// change serves a change, for requests of certain content types. nil: the request has no body, and the method is one
// that no form can send (OBS-77).
func change(types []string, handle func(*service, *http.Request) (any, error)) serve {
	return func(s *service, info *routeInfo) http.HandlerFunc {
		crossOrigin := http.NewCrossOriginProtection()
		return func(w http.ResponseWriter, r *http.Request) {
			kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			var body any
			var err error
			if crossed := crossOrigin.Check(r); crossed != nil {
				err = refusal(http.StatusForbidden, "%v", crossed)
			} else if types != nil && !slices.Contains(types, kind) {
				err = refusal(http.StatusUnsupportedMediaType, "Content-Type is %q: send %s", kind, strings.Join(types, " or "))
			} else {
				body, err = handle(s, r)
			}
			s.audit(r, err)
			s.answer(w, r, info.successStatus(), body, s.changeFailure(err))
		}
	}
}

// localOnly refuses requests whose Host is not this machine: DNS of another owner may resolve a
// name to it (DNS rebinding, OBS-76).
func (s *service) localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserver.SetSecurityHeaders(w.Header())
		if !isLocal(r.Host) {
			s.fail(w, r, refusal(http.StatusForbidden,
				"Host is %q: changes are only for clients of this machine that ask for localhost", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header is localhost or a loopback address, without asking DNS.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

// putConfig applies the configuration in the body of a request.
func (s *service) putConfig(r *http.Request) (any, error) {
	expected, err := ifMatch(r)
	if err != nil {
		return nil, err
	}
	limit := int64(s.opt.Reloads.MaxBytes())
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: %v", err)
	case int64(len(text)) > limit:
		return nil, refusal(http.StatusRequestEntityTooLarge, "the configuration is longer than max-config-bytes (%d)", limit)
	case strings.TrimSpace(string(text)) == "":
		return nil, badRequest("the body is empty: send the text of queues.yaml")
	}
	proposal, err := s.opt.Reloads.Read(reload.REST, clientAddress(r), text)
	if err != nil {
		return nil, err
	}
	proposal.ExpectedGeneration = expected
	return s.viewReload(s.opt.Reloads.Apply(r.Context(), proposal))
}

// rollback applies the text of an earlier generation again (CFG-116, CFG-133).
func (s *service) rollback(r *http.Request) (any, error) {
	n, err := generationNumber(r)
	if err != nil {
		return nil, err
	}
	expected, err := ifMatch(r)
	if err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return nil,
			badRequest("the body is not empty: a rollback takes the number of the generation in the path, and no body")
	} else if !errors.Is(err, io.EOF) {
		return nil, badRequest("the body cannot be read: %v", err)
	}
	return s.viewReload(s.opt.Reloads.Rollback(r.Context(), n, expected))
}

// viewReload shows the result of a change, with the warning that a file will replace it (CFG-132).
func (s *service) viewReload(res reload.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	warnings := s.opt.Reloads.Warnings()
	if s.opt.FileWarning != "" { // about the document itself
		warnings = append(slices.Clone(warnings), validation.Problem{
			Line: 1, Col: 1, RuleID: "config-file", Severity: validation.Warning, Message: s.opt.FileWarning,
			Hint: "change the file, too",
		})
	}
	body := dao.Reload{
		Generation: dao.NewGeneration(res.Generation, res.Generation), Changed: res.Changed,
		Warnings: warnings, NotStored: errorText(res.StoreError),
	}
	if res.Changed {
		body.Changes = res.Generation.Changes
	}
	return body, nil
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// changeFailure maps the error of a change to a status: 400 invalid, 409 refused, 412 another
// generation is in force, 404 unknown generation, 503 busy; any other error is unchanged.
func (s *service) changeFailure(err error) error {
	status, bad := 0, new(reload.InvalidError)
	switch {
	case errors.As(err, &bad):
		n := s.opt.Reloads.Current().Number
		reason := fmt.Sprintf("the configuration is invalid: generation %d stays in force", n)
		return &failure{status: http.StatusBadRequest, reason: reason, body: dao.InvalidConfig{
			Error: dao.NewError(http.StatusBadRequest, reason), Generation: n, Problems: bad.Problems,
		}}
	case errors.Is(err, reload.ErrRefused):
		status = http.StatusConflict
	case errors.Is(err, reload.ErrGenerationConflict):
		status = http.StatusPreconditionFailed
	case errors.Is(err, reload.ErrUnknownGeneration):
		status = http.StatusNotFound
	case errors.Is(err, reload.ErrBusy):
		status = http.StatusServiceUnavailable
	default:
		return err // nil included
	}
	return refusal(status, "%v", err)
}

// ifMatch is the generation that a request expects to replace; 0: it has no If-Match, or * (OBS-79).
func ifMatch(r *http.Request) (uint64, error) {
	tag := strings.TrimSpace(r.Header.Get("If-Match"))
	if tag == "" || tag == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.Trim(tag, `"`), 10, 64)
	if err != nil || n == 0 {
		return 0, badRequest("If-Match is %s: it takes the number of a generation", tag)
	}
	return n, nil
}

// clientAddress is the identity and the address of the client, for the history of the configuration.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return socketIdentity
	}
	if i := auth.FromContext(r.Context()); i != nil {
		return i.Name + " at " + host
	}
	return host
}

// notAllowed answers a change on the public listener with 405 and the reason why it cannot be made here (OBS-78).
func (s *service) notAllowed(info *routeInfo) http.HandlerFunc {
	var reason string
	switch path := pathOf(info.pattern); {
	case strings.HasPrefix(path, "/ws/v1/resourcemanager/") && s.opt.AdminEnabled:
		reason = "a resource manager can be released on the admin listener only"
	case strings.HasPrefix(path, "/ws/v1/resourcemanager/"):
		reason = "a resource manager cannot be released over REST: canopy serve runs without --admin"
	case strings.HasPrefix(path, "/ws/v1/partition/") && s.opt.AdminEnabled:
		reason = "operators act on the admin listener only"
	case strings.HasPrefix(path, "/ws/v1/partition/"):
		reason = "operators cannot act over REST: canopy serve runs without --admin"
	case s.opt.AdminEnabled:
		reason = "the configuration can be changed on the admin listener only"
	default:
		reason = "the configuration cannot be changed over REST: canopy serve runs without --admin"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, OPTIONS")
		s.fail(w, r, refusal(http.StatusMethodNotAllowed, "%s", reason))
	}
}
