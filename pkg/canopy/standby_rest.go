package canopy

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// standbyREST is the HTTP of a standby (HA-8).
type standbyREST struct {
	of      *standby
	metrics http.Handler
}

// standbyReady answers /readyz of a standby.
type standbyReady struct {
	dao.Ready
	Leader *MemberInfo `json:"leader,omitempty"` // missing: none is known
}

// handler returns the handler of a listener. Without redirects, each request for something that only a leader has is
// refused: the leader does not advertise its admin listener.
func (s *standbyREST) handler(redirects bool) http.Handler {
	return httpserver.WithSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			writeJSON(w, http.StatusOK, dao.Health{Healthy: true})
		case "/readyz":
			s.ready(w)
		case "/metrics", "/ws/v1/metrics":
			s.metrics.ServeHTTP(w, r)
		default:
			s.toLeader(w, r, redirects)
		}
	}))
}

func (s *standbyREST) ready(w http.ResponseWriter) {
	l := s.of.leader.Load()
	if l == nil {
		writeJSON(w, http.StatusServiceUnavailable, standbyReady{Ready: dao.Ready{Reason: errNoLeader.Error()}})
		return
	}
	writeJSON(w, http.StatusServiceUnavailable, standbyReady{
		dao.Ready{Reason: "this member stands by: the leader is " + l.Name},
		l,
	})
}

// toLeader redirects to the leader, with the method, the body, the path and the query.
func (s *standbyREST) toLeader(w http.ResponseWriter, r *http.Request, redirects bool) {
	l := s.of.leader.Load()
	// it comes from etcd
	isURL := l != nil && (strings.HasPrefix(l.HTTP, "http://") || strings.HasPrefix(l.HTTP, "https://"))
	text := errNoLeader.Error()
	switch path := r.URL.RequestURI(); {
	case l == nil:
	case !redirects || !isURL || !strings.HasPrefix(path, "/"):
		text = "this member stands by: the leader is " + l.Name + ", which is to be asked"
	case s.of.isOwn(l.HTTP, s.of.self.HTTP, urlOf(l.HTTP, r.Host)):
		text = s.of.leadsBack(l, "HA.AdvertiseHTTP", l.HTTP)
	default:
		w.Header().Set("Location", l.HTTP+path)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, dao.NewError(http.StatusServiceUnavailable, text))
}

// urlOf returns the URL of a Host header, with the scheme of another URL and always with a port, as leaders advertise
// theirs.
func urlOf(other, host string) string {
	scheme, _, _ := strings.Cut(other, "://")
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), map[string]string{"http": "80", "https": "443"}[scheme])
	}
	return scheme + "://" + host
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
