package usergroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-ldap/ldap/v3"
)

// DefaultSecretsDir is the default directory of the LDAP settings (ACL-39).
const DefaultSecretsDir = "/run/secrets/ldap"

// BindPasswordFile is the file with the password, in the directory of the LDAP settings.
const BindPasswordFile = "BindPassword"

// userPlaceholder is the placeholder of the user name in a filter.
const userPlaceholder = "%s"

// maxSecretBytes is the largest size of a settings file.
const maxSecretBytes = 64 << 10

// ldapSettings are the LDAP settings, each the content of the file of the same name (ACL-39). All but Insecure
// and SSL are required (ACL-40).
type ldapSettings struct {
	Host         string
	Port         string // a number
	BaseDN       string // the base of the search
	Filter       string // contains userPlaceholder
	GroupAttr    string // the attribute with the groups
	ReturnAttr   string // the requested attributes; GroupAttr is always requested
	BindUser     string
	BindPassword string
	Insecure     bool // the certificate of the server is not verified; default false
	SSL          bool // ldaps; default false
}

// readSettings reads the settings files in a directory. The error names every missing and every malformed
// setting, and never contains BindPassword.
func readSettings(dir string) (ldapSettings, error) {
	var s ldapSettings
	var missing, malformed []string
	texts := []struct {
		name string
		to   *string
	}{
		{"Host", &s.Host}, {"Port", &s.Port}, {"BaseDN", &s.BaseDN}, {"Filter", &s.Filter},
		{"GroupAttr", &s.GroupAttr}, {"ReturnAttr", &s.ReturnAttr},
		{"BindUser", &s.BindUser}, {BindPasswordFile, &s.BindPassword},
	}
	for _, t := range texts {
		text, err := readSecret(dir, t.name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && text == "":
			missing = append(missing, t.name)
		case err != nil:
			malformed = append(malformed, fmt.Sprintf("%s: %v", t.name, err))
		}
		*t.to = text
	}
	for _, f := range []struct {
		name string
		to   *bool
	}{{"Insecure", &s.Insecure}, {"SSL", &s.SSL}} {
		text, err := readSecret(dir, f.name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && text == "" {
			continue
		}
		if err == nil {
			*f.to, err = strconv.ParseBool(text)
			if err != nil {
				err = fmt.Errorf("%q is neither true nor false", text)
			}
		}
		if err != nil {
			malformed = append(malformed, fmt.Sprintf("%s: %v", f.name, err))
		}
	}
	malformed = append(malformed, s.problems()...)
	if len(missing) > 0 {
		malformed = slices.Insert(malformed, 0, "missing: "+strings.Join(missing, ", "))
	}
	if len(malformed) > 0 {
		return ldapSettings{}, fmt.Errorf("settings of LDAP in %s: %s", dir, strings.Join(malformed, "; "))
	}
	return s, nil
}

// problems returns the malformed settings among those that are set.
func (s ldapSettings) problems() (malformed []string) {
	if n, err := strconv.ParseUint(s.Port, 10, 16); s.Port != "" && (err != nil || n == 0) {
		malformed = append(malformed, fmt.Sprintf("Port: %q is not a port", s.Port))
	}
	if s.BaseDN != "" {
		if _, err := ldap.ParseDN(s.BaseDN); err != nil {
			malformed = append(malformed, fmt.Sprintf("BaseDN: %q is not a distinguished name", s.BaseDN))
		}
	}
	switch {
	case s.Filter == "":
	case !strings.Contains(s.Filter, userPlaceholder):
		malformed = append(malformed, fmt.Sprintf("Filter: %q has no %s for the user name", s.Filter, userPlaceholder))
	default:
		if _, err := ldap.CompileFilter(s.filterFor("name")); err != nil {
			malformed = append(malformed, fmt.Sprintf("Filter: %q is not a filter", s.Filter))
		}
	}
	return malformed
}

// filterFor returns the filter for a user. The name is escaped, so it cannot change the filter.
func (s ldapSettings) filterFor(user string) string {
	return strings.ReplaceAll(s.Filter, userPlaceholder, ldap.EscapeFilter(user))
}

// attributes returns the requested attributes.
func (s ldapSettings) attributes() []string {
	names := strings.FieldsFunc(s.ReturnAttr, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, s.GroupAttr) }) {
		names = append(names, s.GroupAttr)
	}
	return names
}

// readSecret reads a settings file without the line end. It opens the file non-blocking: a pipe without a writer
// would block the reload.
func readSecret(dir, name string) (string, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxSecretBytes:
		return "", fmt.Errorf("longer than %d bytes", maxSecretBytes)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
