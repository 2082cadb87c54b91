package canopy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/auth"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// standbyREST is the HTTP of a standby (HA-8).
type standbyREST struct {
	of      *standby
	auth    *auth.Authenticator // nil: no authentication
	log     *zap.Logger
	metrics http.Handler
}

// standbyReady answers /readyz of a standby.
type standbyReady struct {
	dao.Ready
	Leader *leaderAddresses `json:"leader,omitempty"` // missing: none is known
}

// leaderAddresses is the leader as the answers of standbys have it.
type leaderAddresses struct {
	Name  string `json:"name"`
	GRPC  string `json:"grpc,omitempty"`
	HTTP  string `json:"http,omitempty"`
	Epoch int64  `json:"epoch"`
}

// handler is that of a listener. Without redirects, each request for something that only a leader has is refused: the leader does
// not advertise its admin listener.
func (s *standbyREST) handler(redirects bool) http.Handler {
	return httpserver.WithSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			writeJSON(w, http.StatusOK, dao.Health{Healthy: true})
		case "/readyz":
			s.ready(w)
		case "/metrics", "/ws/v1/metrics":
			if s.admit(w, r) {
				s.metrics.ServeHTTP(w, r)
			}
		default:
			s.toLeader(w, r, redirects)
		}
	}))
}

func (s *standbyREST) ready(w http.ResponseWriter) {
	l, ok := s.of.known()
	if !ok {
		writeJSON(w, http.StatusServiceUnavailable, standbyReady{Ready: dao.Ready{Reason: errNoLeader.Error()}})
		return
	}
	writeJSON(w, http.StatusServiceUnavailable, standbyReady{
		dao.Ready{Reason: "this member stands by: the leader is " + l.Name}, &leaderAddresses{l.Name, l.GRPC, l.HTTP, l.Epoch},
	})
}

// toLeader redirects to the leader, with the method, the body, the path and the query.
func (s *standbyREST) toLeader(w http.ResponseWriter, r *http.Request, redirects bool) {
	l, ok := s.of.known()
	isURL := strings.HasPrefix(l.HTTP, "http://") || strings.HasPrefix(l.HTTP, "https://") // it comes from etcd
	if path := r.URL.RequestURI(); ok && redirects && isURL && strings.HasPrefix(path, "/") {
		w.Header().Set("Location", l.HTTP+path)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	text := errNoLeader.Error()
	if ok {
		text = "this member stands by: the leader is " + l.Name + ", which is to be asked"
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, dao.NewError(http.StatusServiceUnavailable, text))
}

// admit reports whether the client may read, and answers it otherwise, as a leader does (SEC-3).
func (s *standbyREST) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.auth == nil || s.auth.AnonymousMetrics() {
		return true
	}
	_, err := s.auth.Authorize(auth.Client{Authorization: slices.Clone(r.Header.Values("Authorization")), TLS: r.TLS}, auth.Read)
	if err == nil {
		return true
	}
	auth.LogRefusal(s.log, r.RemoteAddr, r.Method+" "+r.URL.Path, err)
	w.Header().Set("WWW-Authenticate", `Bearer realm="canopy"`)
	writeJSON(w, http.StatusUnauthorized, dao.NewError(http.StatusUnauthorized, err.Error()))
	return false
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic("canopy: " + err.Error()) // the types can be encoded
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client has gone
}
