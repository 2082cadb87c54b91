package usergroup

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// source returns the ldapSource of the server s.
func (s *fakeLDAPServer) source(t *testing.T, change map[string]string) ldapSource {
	t.Helper()
	read, err := readSettings(s.settings(t, change))
	assert.NilError(t, err)
	return ldapSource{read}
}

func entryWithGroups(values ...string) []entry {
	return []entry{{"uid=ann", map[string][]string{"memberOf": values, "mail": {"ann@example.com"}}}}
}

func TestLDAPSource_Groups(t *testing.T) {
	const filter = "(&(sAMAccountName=ann))"
	for _, c := range []struct {
		name    string
		found   []entry
		change  map[string]string
		want    []string
		err     string
		request []string
	}{
		{name: "ACL-42: a group is the first CN of each value", want: []string{"dev", "ops"},
			found: entryWithGroups("cn=dev,ou=groups,cn=x,dc=example,dc=com", "ou=groups,CN=ops,dc=example,dc=com")},
		{name: "ACL-42: a value without a CN is left out", want: []string{"dev"},
			found: entryWithGroups("ou=people,dc=example,dc=com", "cn=dev")},
		{name: "a plain name is a group", want: []string{"dev", "data science"},
			found: entryWithGroups("dev", "data science")},
		{name: "escaped characters are part of the name", want: []string{"a,b"},
			found: entryWithGroups(`cn=a\,b,dc=example`)},
		{name: "the case of the attribute does not matter", want: []string{"dev"},
			found: []entry{{"uid=ann", map[string][]string{"MEMBEROF": {"cn=dev"}}}}},
		{name: "a user without groups has none", found: []entry{{dn: "uid=ann"}}},
		{name: "ACL-42: GroupAttr is the attribute with the groups", want: []string{"staff"},
			change: map[string]string{"GroupAttr": "isMemberOf"}, request: []string{"memberOf", "isMemberOf"},
			found: []entry{{"uid=ann", map[string][]string{"memberOf": {"cn=dev"}, "isMemberOf": {"cn=staff"}}}}},
		{name: "ACL-39: ReturnAttr has the requested attributes", want: []string{"dev"}, found: entryWithGroups("cn=dev"),
			change: map[string]string{"ReturnAttr": "mail, MemberOf\n"}, request: []string{"mail", "MemberOf"}},
		{name: "no entry of the user", err: `there is no user "ann" below dc=example,dc=com`},
		{name: "two entries of the user", found: []entry{{dn: "uid=ann,ou=a"}, {dn: "uid=ann,ou=b"}},
			err: `more than one entry below dc=example,dc=com is "ann"`},
		{name: "many entries of the user", found: make([]entry, 5),
			err: `more than one entry below dc=example,dc=com is "ann"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveLDAP(t, false, func(s *fakeLDAPServer) { s.entries[filter] = c.found })
			got, err := s.source(t, c.change).Groups(t.Context(), "ann")
			if c.err != "" {
				assert.Error(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got, c.want)
			if c.request == nil {
				c.request = []string{"memberOf"}
			}
			assert.DeepEqual(t, s.requestedAttributes, c.request)
		})
	}
}

// Names are escaped: no name changes the filter.
func TestLDAPSource_NameCannotChangeFilter(t *testing.T) {
	s := serveLDAP(t, false, nil)
	source := s.source(t, nil)
	for name, want := range map[string]string{
		"*":                       `(&(sAMAccountName=\2a))`,
		"ann)(uid=*":              `(&(sAMAccountName=ann\29\28uid=\2a))`,
		`a\b`:                     `(&(sAMAccountName=a\5cb))`,
		"nul\x00byte":             `(&(sAMAccountName=nul\00byte))`,
		"%s":                      `(&(sAMAccountName=%s))`,
		"system:serviceaccount:x": `(&(sAMAccountName=system:serviceaccount:x))`,
	} {
		_, err := source.Groups(t.Context(), name)
		assert.ErrorContains(t, err, "there is no user")
		filters := s.filters()
		assert.Equal(t, filters[len(filters)-1], want)
	}
}

func TestLDAPSource_TLS(t *testing.T) {
	s := serveLDAP(t, true, func(s *fakeLDAPServer) { s.entries["(&(sAMAccountName=ann))"] = entryWithGroups("cn=dev") })
	trusting := s.source(t, map[string]string{"SSL": "true\n", "Insecure": "true"})
	got, err := trusting.Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []string{"dev"})
	assert.Assert(t, strings.HasPrefix(trusting.String(), "ldaps://127.0.0.1:"), trusting.String())

	_, err = s.source(t, map[string]string{"SSL": "true"}).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "certificate", "an unknown certificate is not trusted without Insecure")
	assert.Equal(t, len(s.filters()), 1)
}

func TestLDAPSource_WrongPasswordIsNotShown(t *testing.T) {
	s := serveLDAP(t, false, nil)
	_, err := s.source(t, map[string]string{"BindPassword": "guessed"}).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "bind as "+bindUser+": LDAP Result Code 49")
	assert.Assert(t, !strings.Contains(err.Error(), "guessed"), err)
	assert.Equal(t, len(s.filters()), 0)
}

func TestLDAPSource_ConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, l.Close()) // the port is closed now
	host, port, err := net.SplitHostPort(l.Addr().String())
	assert.NilError(t, err)
	read, err := readSettings(writeSettings(t, host, port, nil))
	assert.NilError(t, err)
	_, err = ldapSource{read}.Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "connection refused")
}

// A lookup ends with its context wherever the server hangs.
func TestLDAPSource_HangingServerEndsWithContext(t *testing.T) {
	for _, c := range []struct {
		name   string
		secure bool
		change func(*fakeLDAPServer)
		reach  func(*fakeLDAPServer) <-chan struct{}
	}{
		{"before the handshake", true, func(s *fakeLDAPServer) {
			s.connHandler = func(c net.Conn) bool { s.binds <- struct{}{}; <-s.t.Context().Done(); return true }
		}, func(s *fakeLDAPServer) <-chan struct{} { return s.binds }},
		{"at the bind", false, func(s *fakeLDAPServer) { s.ignoreBinds = true },
			func(s *fakeLDAPServer) <-chan struct{} { return s.binds }},
		{"at the search", false, func(s *fakeLDAPServer) { s.searchHandler = func(net.Conn, int64) {} },
			func(s *fakeLDAPServer) <-chan struct{} { return s.searches }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveLDAP(t, c.secure, c.change)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-c.reach(s)
				cancel()
			}()
			change := map[string]string{}
			if c.secure {
				change["SSL"] = "true"
			}
			_, err := s.source(t, change).Groups(ctx, "ann")
			assert.Assert(t, err != nil)
			assert.ErrorIs(t, ctx.Err(), context.Canceled)
		})
	}
}

// The error of a Resolver names the time-out.
func TestResolver_HangingLDAPServerTimesOut(t *testing.T) {
	s := serveLDAP(t, false, func(s *fakeLDAPServer) { s.ignoreBinds = true })
	source := s.source(t, nil)
	d := NewResolver(source, Options{Timeout: time.Millisecond})
	t.Cleanup(d.Close)
	resultErr := make(chan error, 1)
	d.Resolve("ann", func(_ []string, err error) { resultErr <- err })
	assert.Error(t, <-resultErr, source.String()+": no answer within 1ms")
}

// The library makes a packet of each element of two bytes, which takes a hundred times as much memory.
func TestLDAPSource_AnswerMemoryIsBounded(t *testing.T) {
	const size = 16 << 20
	s := serveLDAP(t, false, func(s *fakeLDAPServer) {
		s.searchHandler = func(c net.Conn, _ int64) {
			_, err := c.Write(binary.BigEndian.AppendUint32([]byte{0x30, 0x84}, size))
			for empty := bytes.Repeat([]byte{0x04, 0x00}, 1<<15); err == nil; {
				_, err = c.Write(empty)
			}
		}
	})
	source := s.source(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := source.Groups(t.Context(), "ann")
	runtime.ReadMemStats(&after)
	assert.ErrorContains(t, err, errAnswerTooLong.Error())
	const limit = 200 << 20
	got := after.TotalAlloc - before.TotalAlloc
	assert.Assert(t, got < limit, "%d MiB", got>>20)
	t.Logf("%d MiB", got>>20)
}

func TestLDAPSource_InvalidAnswers(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name   string
		change func(*fakeLDAPServer)
		want   string
	}{
		{"an endless list", func(s *fakeLDAPServer) {
			s.searchHandler = func(c net.Conn, id int64) {
				for send(c, id, entryWithGroups(huge)[0].packet()) {
				}
			}
		}, errAnswerTooLong.Error()},
		{"a packet with a huge length", func(s *fakeLDAPServer) {
			s.searchHandler = func(c net.Conn, _ int64) {
				_, err := c.Write([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff, 0x04, 0x84, 0x7f, 0xff, 0xff, 0xf0})
				for err == nil {
					_, err = c.Write([]byte(huge))
				}
			}
		}, errAnswerTooLong.Error()},
		{"another protocol than LDAP", func(s *fakeLDAPServer) {
			s.connHandler = func(c net.Conn) bool {
				_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
				return true
			}
		}, ""},
		{"an empty entry", func(s *fakeLDAPServer) {
			s.searchHandler = func(c net.Conn, id int64) { send(c, id, ldapResult(4, 0)) }
		}, ""},
		{"a closed connection", func(s *fakeLDAPServer) { s.searchHandler = func(c net.Conn, _ int64) { _ = c.Close() } },
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveLDAP(t, false, c.change)
			d := NewResolver(s.source(t, nil), Options{Timeout: time.Minute})
			t.Cleanup(d.Close)
			resultErr := make(chan error, 1)
			d.Resolve("ann", func(_ []string, err error) { resultErr <- err })
			assert.ErrorContains(t, <-resultErr, c.want)
		})
	}
}
