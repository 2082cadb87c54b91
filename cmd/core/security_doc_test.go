package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
)

// flagsWithoutLimit are the flags of serve that are not limits.
var flagsWithoutLimit = []string{
	"admin", "admin-listen", "anonymous-metrics", "anonymous-read", "audit-interval", "completed-retention",
	"completing-timeout", "config", "config-watch", "partitions",
	"data-dir", "debug", "grpc-address", "help", "http-address", "http-cors-origin", "http-host", "insecure",
	"ldap-secrets", "log-format", "log-level", "new-timeout",
	"rejected-retention", "strict-priority-classes", "tls-cert", "tls-client-ca", "tls-key", "tokens",
	"demo", "demo-load", "demo-seed", "duration-tag", "web-root", "usage-interval", "usage-retention", "record",
	"record-max-age",
	"ha", "ha-name", "advertise-grpc", "advertise-http", "etcd-endpoints", "etcd-prefix", "etcd-ttl", "etcd-ca",
	"etcd-cert", "etcd-key", "etcd-user", "etcd-password-file",
}

// TestSecurityDoc_HasEveryLimit compares the tables of docs/SECURITY.md with the flags of serve.
func TestSecurityDoc_HasEveryLimit(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	assert.NilError(t, err)
	rows := map[string]string{} // default by flag
	for _, m := range regexp.MustCompile(
		"(?m)^\\| [^|]+ \\| ([^|]+) \\| `--([a-z-]+)` \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		rows[m[2]] = strings.TrimSpace(m[1])
	}
	flags := serveCommand().Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		for _, name := range flagsWithoutLimit {
			if f.Name == name {
				return
			}
		}
		got, found := rows[f.Name]
		assert.Assert(t, found, "docs/SECURITY.md has no row for the limit --%s", f.Name)
		assert.Equal(t, got, f.DefValue, "the default of --%s", f.Name)
		delete(rows, f.Name)
	})
	assert.Equal(t, len(rows), 0, "docs/SECURITY.md has flags that serve does not have: %v", rows)
}
