//go:build slapd

package usergroup

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"
	"gotest.tools/v3/assert"
)

// TestLDAP_Slapd tests ldapSource with slapd of Debian: make test-ldap.
func TestLDAP_Slapd(t *testing.T) {
	program, err := exec.LookPath("slapd")
	if err != nil {
		t.Skip("slapd is not installed: make test-ldap installs it for root, else apt install slapd")
	}
	plain, secure := startSlapd(t, program)
	for _, c := range []struct {
		name, user string
		change     map[string]string
		want       []string
		err        string
	}{
		{name: "groups of a user", user: "ann", want: []string{"dev", "ops, west"}},
		{name: "a user without groups", user: "bob", want: []string{}},
		{name: "a service account", user: "system:serviceaccount:ns:x", want: []string{"dev"}},
		{name: "an unknown user", user: "eve", err: `there is no user "eve" below dc=example,dc=com`},
		{name: "a star in a name", user: "*", err: `there is no user "*" below dc=example,dc=com`},
		{name: "a part of a filter in a name", user: "ann)(uid=*",
			err: `there is no user "ann)(uid=*" below dc=example,dc=com`},
		{name: "many entries", user: "ann", change: map[string]string{"Filter": "(|(uid=%s)(objectClass=person))"},
			err: `more than one entry below dc=example,dc=com is "ann"`},
		{name: "another attribute", user: "ann", change: map[string]string{"GroupAttr": "employeeType"},
			want: []string{"contractor"}},
		{name: "a wrong password", user: "ann", change: map[string]string{"BindPassword": "guess"},
			err: `bind as cn=admin,dc=example,dc=com: LDAP Result Code 49 "Invalid Credentials": `},
		{name: "a base that does not exist", user: "ann", change: map[string]string{"BaseDN": "dc=example,dc=org"},
			err: `search below dc=example,dc=org: LDAP Result Code 32 "No Such Object": `},
		{name: "over TLS", user: "ann", change: map[string]string{"SSL": "true", "Insecure": "true", "Port": secure},
			want: []string{"dev", "ops, west"}},
		{name: "over TLS with an unknown certificate", user: "ann", change: map[string]string{"SSL": "true", "Port": secure},
			err: "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := map[string]string{"Filter": "(&(uid=%s))"}
			for name, text := range c.change {
				change[name] = text
			}
			read, err := readSettings(writeSettings(t, "127.0.0.1", plain, change))
			assert.NilError(t, err)
			got, err := ldapSource{read}.Groups(t.Context(), c.user)
			if c.err != "" {
				assert.Error(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			got, err = normalizeGroups(got)
			assert.NilError(t, err)
			assert.DeepEqual(t, append([]string{}, got...), c.want)
		})
	}
}

// startSlapd runs a server with a few users until the test ends.
func startSlapd(t *testing.T, program string) (plain, secure string) {
	t.Helper()
	dir, plain, secure := t.TempDir(), freePort(t), freePort(t)
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	writeCertificate(t, dir)
	conf := filepath.Join(dir, "slapd.conf")
	assert.NilError(t, os.WriteFile(conf, []byte(fmt.Sprintf(`
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile %[1]s/pid
TLSCertificateFile %[1]s/cert.pem
TLSCertificateKeyFile %[1]s/key.pem
database mdb
suffix dc=example,dc=com
rootdn %[2]s
rootpw %[3]s
directory %[1]s/db
overlay memberof
`, dir, bindUser, bindPassword)), 0o600))
	const statistics = "256" // slapd prints "slapd starting" at this debug level
	cmd := exec.CommandContext(t.Context(), program, "-f", conf, "-d", statistics,
		"-h", fmt.Sprintf("ldap://127.0.0.1:%s ldaps://127.0.0.1:%s", plain, secure))
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	started, before := false, ""
	for !started && lines.Scan() {
		started = strings.Contains(lines.Text(), "slapd starting")
		before += lines.Text() + "\n"
	}
	assert.Assert(t, started, before)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait() // it was killed
	})
	populate(t, plain)
	return plain, secure
}

func populate(t *testing.T, port string) {
	t.Helper()
	c := dialSlapd(t, port)
	defer c.Close()
	assert.NilError(t, c.Bind(bindUser, bindPassword))
	add := func(dn string, classes []string, attributes map[string][]string) {
		t.Helper()
		r := ldap.NewAddRequest(dn, nil)
		r.Attribute("objectClass", classes)
		for name, values := range attributes {
			r.Attribute(name, values)
		}
		assert.NilError(t, c.Add(r), dn)
	}
	add("dc=example,dc=com", []string{"dcObject", "organization"},
		map[string][]string{"o": {"example"}, "dc": {"example"}})
	for _, name := range []string{"ann", "bob", "system:serviceaccount:ns:x"} {
		add("uid="+name+",dc=example,dc=com", []string{"inetOrgPerson"},
			map[string][]string{"uid": {name}, "cn": {name}, "sn": {name}, "employeeType": {"contractor"}})
	}
	member := func(names ...string) map[string][]string {
		var all []string
		for _, n := range names {
			all = append(all, "uid="+n+",dc=example,dc=com")
		}
		return map[string][]string{"member": all}
	}
	add("cn=dev,dc=example,dc=com", []string{"groupOfNames"}, member("ann", "system:serviceaccount:ns:x"))
	add(`cn=ops\, west,dc=example,dc=com`, []string{"groupOfNames"}, member("ann"))
}

// dialSlapd connects, with retries: the server prints that it starts before it listens.
func dialSlapd(t *testing.T, port string) *ldap.Conn {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 1000 {
		c, err := ldap.DialURL("ldap://127.0.0.1:" + port)
		if err == nil {
			return c
		}
		<-again.C
	}
	t.Fatal("slapd does not listen")
	return nil
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	assert.NilError(t, err)
	return port
}

// writeCertificate writes the certificate of package httptest, which no client trusts.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	certificate := web.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	assert.NilError(t, err)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: key},
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}
