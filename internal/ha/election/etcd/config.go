package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config says where etcd is.
type Config struct {
	Endpoints []string // HOST:PORT, or a URL with http or https; at least one
	Prefix    string   // of all keys, such as /canopy
	Group     string   // names the group among those that share Prefix, in a part of a key; empty: it is alone there
	// CAFile is a PEM file with the authorities of the certificates of etcd; empty: those of the system for https.
	CAFile string
	// CertFile and KeyFile are PEM files with the certificate of the member. They are read again for each connection.
	CertFile, KeyFile string
	User              string        // empty: without authentication
	PasswordFile      string        // has the password of User in its first line
	Timeout           time.Duration // for the authentication of a new connection
}

// LeaderKey returns the key of the leader.
func (c *Config) LeaderKey() string {
	alone, others := c.LeaderKeys()
	if c.Group == "" {
		return alone
	}
	return others + c.Group
}

// LeaderKeys returns the key of the leader of a group without a name, and what is before the name of a group in its
// leader's key: that is where groups find each other (HA-12).
func (c *Config) LeaderKeys() (alone, others string) {
	return c.Prefix + "/leader", c.Prefix + "/leaders/"
}

// GroupPrefix returns the prefix of the keys that only the members of the group use.
func (c *Config) GroupPrefix() string {
	if c.Group == "" {
		return c.Prefix
	}
	return c.Prefix + "/groups/" + c.Group
}

// Check calls report for each setting that cannot be used, with its field, and reads the files.
func (c *Config) Check(report func(field, format string, args ...any)) {
	valid := true
	wrong := func(field, format string, args ...any) {
		valid = false
		report(field, format, args...)
	}
	if len(c.Endpoints) == 0 {
		wrong("Endpoints", "there is no endpoint of etcd")
	}
	secure := 0
	for _, e := range c.Endpoints {
		is, err := endpoint(e)
		if err != nil {
			wrong("Endpoints", "%q: %w", e, err)
		}
		if is {
			secure++
		}
		if !is && c.hasTLS() && strings.HasPrefix(e, "http:") {
			wrong("Endpoints", "%q is without TLS, and there are certificates for it", e)
		}
	}
	if secure > 0 && secure < len(c.Endpoints) {
		wrong("Endpoints", "some are https and others are not")
	}
	if !strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") {
		wrong("Prefix", "%q: it begins with a slash and ends without one, such as /canopy", c.Prefix)
	}
	switch {
	case c.CertFile == "" && c.KeyFile != "":
		wrong("CertFile", "the file of the certificate is missing")
	case c.CertFile != "" && c.KeyFile == "":
		wrong("KeyFile", "the file of the private key is missing")
	case c.User == "" && c.PasswordFile != "":
		wrong("User", "there is a password and no user")
	case c.User != "" && c.PasswordFile == "":
		wrong("PasswordFile", "there is a user and no password")
	}
	if !valid {
		return
	}
	if _, field, err := c.tls(); err != nil {
		wrong(field, "%w", err)
	}
	if _, err := c.password(); err != nil {
		wrong("PasswordFile", "%w", err)
	}
}

// endpoint reports whether an endpoint is a URL with https.
func endpoint(text string) (https bool, err error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		rest = text
	}
	if isURL && scheme != "http" && scheme != "https" {
		return false, errors.New("it is HOST:PORT, or such a URL with http or https")
	}
	if u, err := url.Parse("//" + rest); err != nil || u.Host != rest {
		return false, errors.New("it is HOST:PORT, or such a URL with http or https, without a path")
	}
	if _, _, err := net.SplitHostPort(rest); err != nil {
		return false, err
	}
	return scheme == "https", nil
}

// hasTLS reports whether there are files for TLS.
func (c *Config) hasTLS() bool { return c.CAFile != "" || c.CertFile != "" }

// tls is the TLS of connections; nil: they have none. An error is about a field.
func (c *Config) tls() (t *tls.Config, field string, err error) {
	if !c.hasTLS() && !strings.HasPrefix(strings.Join(c.Endpoints, ""), "https:") {
		return nil, "", nil
	}
	t = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, "CAFile", err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, "CAFile", fmt.Errorf("%s has no certificate", c.CAFile)
		}
	}
	if c.CertFile != "" {
		read := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			return &pair, err
		}
		if _, err := read(); err != nil {
			return nil, "CertFile", err
		}
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	}
	return t, "", nil
}

// password is the password of User.
func (c *Config) password() (string, error) {
	if c.PasswordFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "")
	if line == "" {
		return "", fmt.Errorf("%s has no password in its first line", c.PasswordFile)
	}
	return line, nil
}
