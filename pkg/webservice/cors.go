package webservice

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Web pages of another origin may read answers only where a setting says so (RST-2): a browser would otherwise show the
// whole state to any page that its user visits. Without the setting, answers have no header about origins.

// AnyOrigin as one of Options.Origins allows web pages of every origin.
const AnyOrigin = "*"

// The headers of a preflight and of answers to web pages of other origins.
const (
	preflightHeaders = "X-Requested-With, Content-Type, Accept, Origin"
	exposedHeaders   = "ETag, Link, Retry-After, Warning"
	preflightSeconds = "600" // for which a browser need not ask again
)

// CheckOrigin is an error if an origin is not one as browsers send it, such as https://page.example.org:8443, or
// AnyOrigin.
func CheckOrigin(origin string) error {
	if origin == AnyOrigin {
		return nil
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return fmt.Errorf("origin %q: %w", origin, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("origin %q: it is http:// or https:// and a host, such as https://page.example.org:8443, or *",
			origin)
	case strings.Contains(u.Host, "*"):
		return fmt.Errorf("origin %q: it names one host; * alone allows every origin", origin)
	case origin != u.Scheme+"://"+u.Host:
		return fmt.Errorf("origin %q: it has no path, user, query or slash at the end: use %s://%s", origin, u.Scheme, u.Host)
	case origin != strings.ToLower(origin):
		return fmt.Errorf("origin %q: browsers send it in lower case: use %s", origin, strings.ToLower(origin))
	case u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443":
		return errors.New("origin " + origin + ": browsers leave out the port of the scheme: use " + u.Scheme + "://" +
			u.Hostname())
	}
	return nil
}

// allowsOrigin is the value of Access-Control-Allow-Origin for a request; empty: the origin may not read answers.
func (s *service) allowsOrigin(r *http.Request) string {
	if slices.Contains(s.opt.Origins, AnyOrigin) {
		return AnyOrigin
	}
	if origin := r.Header.Get("Origin"); slices.Contains(s.opt.Origins, origin) {
		return origin
	}
	return ""
}

// withOrigins lets web pages of the origins of the options read all answers of next.
func (s *service) withOrigins(next http.Handler) http.Handler {
	if len(s.opt.Origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := s.allowsOrigin(r)
		if allowed != AnyOrigin {
			w.Header().Add("Vary", "Origin")
		}
		if allowed != "" {
			w.Header().Set("Access-Control-Allow-Origin", allowed)
			w.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
		}
		next.ServeHTTP(w, r)
	})
}

// answerOptions answers OPTIONS, and so preflights, with the methods of a path.
func (s *service) answerOptions(w http.ResponseWriter, methods string) {
	h := w.Header()
	h.Set("Allow", methods)
	if h.Get("Access-Control-Allow-Origin") == "" {
		return
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", preflightHeaders)
	h.Set("Access-Control-Max-Age", preflightSeconds)
}

// crossOriginCheck refuses requests that web pages of other origins than those of the options send.
func (s *service) crossOriginCheck() func(*http.Request) error {
	check := http.NewCrossOriginProtection()
	for _, origin := range s.opt.Origins {
		if origin == AnyOrigin {
			return func(*http.Request) error { return nil }
		}
		if err := check.AddTrustedOrigin(origin); err != nil {
			panic("webservice: " + err.Error()) // Options.Origins are checked
		}
	}
	return check.Check
}
