package etcd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election/etcd"
)

// problems are what Check reports, one a line.
func problems(c *etcd.Config) string {
	var all []string
	c.Check(func(field, format string, args ...any) {
		all = append(all, field+": "+fmt.Errorf(format, args...).Error())
	})
	return strings.Join(all, "\n")
}

func TestConfig_ReportsWhatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	assert.NilError(t, os.WriteFile(empty, nil, 0o600))
	for want, c := range map[string]etcd.Config{
		"Endpoints: there is no endpoint of etcd": {Prefix: "/c"},

		`Endpoints: "127.0.0.1": address 127.0.0.1: missing port in address`: {
			Endpoints: []string{"127.0.0.1"}, Prefix: "/c"},
		`Endpoints: "ftp://e:1": it is HOST:PORT, or such a URL with http or https`: {
			Endpoints: []string{"ftp://e:1"}, Prefix: "/c"},
		`Endpoints: "http://e:1/x": it is HOST:PORT, or such a URL with http or https, without a path`: {
			Endpoints: []string{"http://e:1/x"}, Prefix: "/c"},
		`Endpoints: "http://e:1" is without TLS, and there are certificates for it`: {
			Endpoints: []string{"http://e:1"}, Prefix: "/c", CAFile: "ca"},
		"Endpoints: some are https and others are not": {
			Endpoints: []string{"https://e:1", "f:1"}, Prefix: "/c"},
		`Prefix: "c": it begins with a slash and ends without one, such as /canopy`: {
			Endpoints: []string{"e:1"}, Prefix: "c"},
		`Prefix: "/c/": it begins with a slash and ends without one, such as /canopy`: {
			Endpoints: []string{"e:1"}, Prefix: "/c/"},
		"CertFile: the file of the certificate is missing": {
			Endpoints: []string{"e:1"}, Prefix: "/c", KeyFile: "k"},
		"KeyFile: the file of the private key is missing": {
			Endpoints: []string{"e:1"}, Prefix: "/c", CertFile: "k"},
		"User: there is a password and no user": {
			Endpoints: []string{"e:1"}, Prefix: "/c", PasswordFile: "p"},
		"PasswordFile: there is a user and no password": {
			Endpoints: []string{"e:1"}, Prefix: "/c", User: "u"},
		"PasswordFile: " + empty + " has no password in its first line": {
			Endpoints: []string{"e:1"}, Prefix: "/c", User: "u", PasswordFile: empty},
		"CAFile: " + empty + " has no certificate": {
			Endpoints: []string{"e:1"}, Prefix: "/c", CAFile: empty},
		"CertFile: open " + filepath.Join(dir, "absent") + ": no such file or directory": {
			Endpoints: []string{"e:1"}, Prefix: "/c", CertFile: filepath.Join(dir, "absent"), KeyFile: empty},
	} {
		assert.Equal(t, problems(&c), want)
	}
	for _, endpoint := range []string{"e:1", "http://e:1", "https://e:1", "[::1]:2379"} {
		c := etcd.Config{Endpoints: []string{endpoint}, Prefix: "/canopy"}
		assert.Equal(t, problems(&c), "")
	}
}
