package usergroup

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestLDAPSettings_Read(t *testing.T) {
	read, err := readSettings(writeSettings(t, "ldap.example.com", "636",
		map[string]string{"SSL": "TRUE\r\n", "Insecure": ""}))
	assert.NilError(t, err)
	assert.Equal(t, read.BindPassword, bindPassword, "the end of the line is not part of it")
	assert.Equal(t, read.SSL, true)
	assert.Equal(t, read.Insecure, false)
	assert.Equal(t, ldapSource{read}.String(), "ldaps://ldap.example.com:636")
}

func TestLDAPSettings_Errors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]string
		want   string
	}{
		{"ACL-40: every missing setting is named",
			map[string]string{"Host": removedFile, "BindPassword": removedFile, "ReturnAttr": removedFile},
			"missing: Host, ReturnAttr, BindPassword"},
		{"ACL-40: an empty file counts as missing", map[string]string{"BaseDN": "\n"}, "missing: BaseDN"},
		{"ACL-40: Insecure and SSL may be missing, but not malformed", map[string]string{"SSL": "maybe"},
			`SSL: "maybe" is neither true nor false`},
		{"a port that is no number", map[string]string{"Port": "ldap"}, `Port: "ldap" is not a port`},
		{"a port out of range", map[string]string{"Port": "70000"}, `Port: "70000" is not a port`},
		{"a filter without the user name", map[string]string{"Filter": "(uid=ann)"},
			`Filter: "(uid=ann)" has no %s for the user name`},
		{"a malformed filter", map[string]string{"Filter": "(uid=%s"}, `Filter: "(uid=%s" is not a filter`},
		{"a malformed distinguished name", map[string]string{"BaseDN": "example.com"},
			`BaseDN: "example.com" is not a distinguished name`},
		{"several problems", map[string]string{"Host": removedFile, "Port": "0", "Insecure": "2"},
			`missing: Host; Insecure: "2" is neither true nor false; Port: "0" is not a port`},
		{"a file that is too long", map[string]string{"BindPassword": strings.Repeat("x", maxSecretBytes+1)},
			"BindPassword: longer than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeSettings(t, "ldap", "389", c.change)
			_, err := readSettings(dir)
			assert.Error(t, err, "settings of LDAP in "+dir+": "+c.want)
		})
	}
}

func TestLDAPSettings_PipeIsMissing(t *testing.T) {
	dir := writeSettings(t, "ldap", "389", map[string]string{"Host": removedFile})
	assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "Host"), 0o600))
	_, err := readSettings(dir)
	assert.ErrorContains(t, err, "missing: Host")
}

func TestLDAPSettings_MissingSecretsDir(t *testing.T) {
	_, err := readSettings(filepath.Join(t.TempDir(), "none"))
	assert.ErrorContains(t, err, "missing: Host, Port, BaseDN, Filter, GroupAttr, ReturnAttr, BindUser, BindPassword")
}
