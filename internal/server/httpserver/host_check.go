package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A web page may have a name of its own resolve to the address of this server (DNS rebinding). For the browser the page
// and the server are then one origin, and the page reads the answers. Its requests have its own name as Host, so a
// server that answers for its own names only is safe (RST-4).

// AnyHost as one of the names of CheckHost accepts requests for every name.
const AnyHost = "*"

// CheckHost refuses requests for names that are not of this server, with status 421 and an error that says how to allow
// a name. An address, localhost and the names are accepted, and so is every request for a path of exempt. hint is how
// the name is allowed, such as "--http-host".
func CheckHost(next http.Handler, names, exempt []string, hint string) http.Handler {
	if slices.Contains(names, AnyHost) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		if isOwnHost(name, names) || slices.Contains(exempt, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		text := fmt.Sprintf("Host is %q, which is no name of this server: %s allows a name", shortened(name), hint)
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = w.Write([]byte(errorBody(http.StatusMisdirectedRequest, text)))
	})
}

// hostName is the name or address in a Host header, without the port, the brackets of IPv6 and the dot at the end.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// isOwnHost reports whether a request for a name is answered. A request of HTTP/1.0 may have none, and no browser sends
// it.
func isOwnHost(name string, names []string) bool {
	if name == "" || strings.EqualFold(name, "localhost") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true // no DNS is asked for an address
	}
	return slices.ContainsFunc(names, func(own string) bool { return strings.EqualFold(own, name) })
}

// CheckHostName is an error if a name cannot be the name of a Host header: it has no scheme, port, path or space.
func CheckHostName(name string) error {
	if name == AnyHost {
		return nil
	}
	for _, c := range name {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Errorf("host name %q: it is a name such as canopy.example.org, without scheme, port and path, or *", name)
		}
	}
	if name == "" || strings.HasSuffix(name, ".") {
		return fmt.Errorf("host name %q: it is a name such as canopy.example.org, without a dot at the end, or *", name)
	}
	return nil
}

// shortened bounds a text of a client in an error.
func shortened(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
