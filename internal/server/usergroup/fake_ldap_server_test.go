package usergroup

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"gotest.tools/v3/assert"
)

// fakeLDAPServer implements as much LDAP as a lookup needs, with configurable faults.
type fakeLDAPServer struct {
	t        *testing.T
	listener net.Listener
	running  sync.WaitGroup

	mu                  sync.Mutex
	conns               []net.Conn
	entries             map[string][]entry // by filter
	receivedFilters     []string           // of all searches
	requestedAttributes []string           // of the last search
	searches            chan struct{}      // gets one per search
	binds               chan struct{}      // gets one per bind

	ignoreBinds   bool                         // binds are not answered
	searchHandler func(c net.Conn, id int64)   // replaces the answer to a search
	connHandler   func(c net.Conn) (done bool) // runs before the first read
}

// entry is an entry of the directory.
type entry struct {
	dn     string
	values map[string][]string // by attribute
}

const (
	bindUser     = "cn=admin,dc=example,dc=com"
	bindPassword = "let-me-in" // of a test server only
)

// serveLDAP starts a server; secure: with the certificate of package httptest.
func serveLDAP(t *testing.T, secure bool, change func(*fakeLDAPServer)) *fakeLDAPServer {
	t.Helper()
	s := &fakeLDAPServer{t: t, entries: map[string][]entry{}, searches: make(chan struct{}, 100),
		binds: make(chan struct{}, 100)}
	if change != nil {
		change(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	s.listener = l
	if secure {
		web := httptest.NewTLSServer(nil)
		s.listener = tls.NewListener(l, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
		web.Close()
	}
	s.running.Go(s.accept)
	t.Cleanup(func() {
		assert.NilError(t, l.Close())
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

func (s *fakeLDAPServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.running.Go(func() { s.serve(c) })
	}
}

func (s *fakeLDAPServer) serve(c net.Conn) {
	defer c.Close()
	if s.connHandler != nil && s.connHandler(c) {
		return
	}
	for {
		m, err := ber.ReadPacket(c)
		if err != nil {
			return
		}
		id, op := m.Children[0].Value.(int64), m.Children[1]
		switch op.Tag {
		case ldap.ApplicationBindRequest:
			s.binds <- struct{}{}
			if s.ignoreBinds {
				continue
			}
			code := int64(ldap.LDAPResultSuccess)
			if op.Children[1].Value != bindUser || op.Children[2].Data.String() != bindPassword {
				code = ldap.LDAPResultInvalidCredentials
			}
			send(c, id, ldapResult(ldap.ApplicationBindResponse, code))
		case ldap.ApplicationSearchRequest:
			s.search(c, id, op)
		case ldap.ApplicationUnbindRequest:
			return
		}
	}
}

func (s *fakeLDAPServer) search(c net.Conn, id int64, op *ber.Packet) {
	filter, err := ldap.DecompileFilter(op.Children[6])
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.receivedFilters = append(s.receivedFilters, filter)
	s.requestedAttributes = nil
	for _, a := range op.Children[7].Children {
		s.requestedAttributes = append(s.requestedAttributes, a.Value.(string))
	}
	found := s.entries[filter]
	s.mu.Unlock()
	s.searches <- struct{}{}
	if s.searchHandler != nil {
		s.searchHandler(c, id)
		return
	}
	sizeLimit := int(op.Children[3].Value.(int64))
	code := int64(ldap.LDAPResultSuccess)
	if len(found) > sizeLimit {
		found, code = found[:sizeLimit], ldap.LDAPResultSizeLimitExceeded
	}
	for _, e := range found {
		send(c, id, e.packet())
	}
	send(c, id, ldapResult(ldap.ApplicationSearchResultDone, code))
}

func (e entry) packet() *ber.Packet {
	attributes := ber.NewSequence("")
	for name, values := range e.values {
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		for _, v := range values {
			set.AppendChild(octetString(v))
		}
		a := ber.NewSequence("")
		a.AppendChild(octetString(name))
		a.AppendChild(set)
		attributes.AppendChild(a)
	}
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	p.AppendChild(octetString(e.dn))
	p.AppendChild(attributes)
	return p
}

func octetString(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}

func ldapResult(op ber.Tag, code int64) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, op, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
	p.AppendChild(octetString(""))
	p.AppendChild(octetString(""))
	return p
}

func send(c net.Conn, id int64, op *ber.Packet) (ok bool) {
	m := ber.NewSequence("")
	m.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	m.AppendChild(op)
	_, err := c.Write(m.Bytes())
	return err == nil
}

func (s *fakeLDAPServer) filters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.receivedFilters)
}

// settings returns a directory with the settings of this server; change replaces or removes some of them.
func (s *fakeLDAPServer) settings(t *testing.T, change map[string]string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	assert.NilError(t, err)
	return writeSettings(t, host, port, change)
}

func writeSettings(t *testing.T, host, port string, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		"Host": host, "Port": port + "\n", "BaseDN": "dc=example,dc=com", "Filter": "(&(sAMAccountName=%s))",
		"GroupAttr": "memberOf", "ReturnAttr": "memberOf", "BindUser": bindUser, "BindPassword": bindPassword + "\n",
	}
	dir := t.TempDir()
	for name, text := range change {
		files[name] = text
	}
	for name, text := range files {
		if text != removedFile {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	return dir
}

// removedFile as a value of change removes the file.
const removedFile = "\x00"
