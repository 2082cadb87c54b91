package usergroup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-ldap/ldap/v3"
)

// ldapSource is an LDAP server (ACL-41 to ACL-44). Each lookup has a connection of its own: results are cached
// for minutes, so connections would mostly be idle, and a connection that broke unnoticed would fail the next
// lookup. Sources with the same settings are equal.
type ldapSource struct{ ldapSettings }

func (s ldapSource) String() string {
	scheme := "ldap"
	if s.SSL {
		scheme = "ldaps"
	}
	return scheme + "://" + net.JoinHostPort(s.Host, s.Port)
}

// Groups implements Source: the groups are the values of GroupAttr in the entry of the user. A distinguished name
// stands for its first CN, as in YuniKorn; one without a CN is left out (ACL-42).
func (s ldapSource) Groups(ctx context.Context, user string) ([]string, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	// The library has no contexts. Closing the connection ends every call.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c := ldap.NewConn(&limitedConn{Conn: conn, remaining: maxAnswerBytes}, s.SSL)
	c.Start()
	defer c.Close()
	if err := c.Bind(s.BindUser, s.BindPassword); err != nil {
		return nil, fmt.Errorf("bind as %s: %w", s.BindUser, err)
	}
	const wanted, oneMore = 1, 2
	found, err := c.Search(ldap.NewSearchRequest(s.BaseDN, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases,
		oneMore, 0, false, s.filterFor(user), s.attributes(), nil))
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded), err == nil && len(found.Entries) > wanted:
		return nil, fmt.Errorf("more than one entry below %s is %q", s.BaseDN, user)
	case err != nil:
		return nil, fmt.Errorf("search below %s: %w", s.BaseDN, err)
	case len(found.Entries) == 0:
		return nil, fmt.Errorf("there is no user %q below %s", user, s.BaseDN)
	}
	var groups []string
	for _, value := range found.Entries[0].GetEqualFoldAttributeValues(s.GroupAttr) {
		if name := groupName(value); name != "" {
			groups = append(groups, name)
		}
	}
	return groups, nil
}

// dial connects, with TLS if the settings have SSL (ACL-43).
func (s ldapSource) dial(ctx context.Context) (net.Conn, error) {
	address := net.JoinHostPort(s.Host, s.Port)
	if !s.SSL {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	d := &tls.Dialer{Config: &tls.Config{
		ServerName: s.Host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: s.Insecure, // the setting Insecure
	}}
	return d.DialContext(ctx, "tcp", address)
}

// groupName returns the first CN of a distinguished name, or a plain name as it is. Empty: a distinguished name
// without a CN.
func groupName(value string) string {
	dn, err := ldap.ParseDN(value)
	if err != nil {
		return value
	}
	for _, rdn := range dn.RDNs {
		for _, a := range rdn.Attributes {
			if strings.EqualFold(a.Type, "cn") {
				return a.Value
			}
		}
	}
	return ""
}

// maxAnswerBytes bounds the answer of a server in one lookup (ACL-44): 4,096 groups with names of 250 bytes. The
// library allocates up to 150 times as much.
const maxAnswerBytes = 1 << 20

var errAnswerTooLong = errors.New("the answer is too long")

// limitedConn is a connection whose Read fails after remaining bytes.
type limitedConn struct {
	net.Conn
	remaining int
}

func (b *limitedConn) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errAnswerTooLong
	}
	n, err := b.Conn.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}
