package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

func parse(t *testing.T, text string) *Credentials {
	t.Helper()
	c, err := ParseCredentials([]byte(text))
	assert.NilError(t, err)
	return c
}

func threeRoles(t *testing.T) *Credentials {
	return parse(t,
		entry("ann", "read", "r", "")+entry("shim", "submit", "s", ", rmID: rm-1")+entry("ops", "admin", "a", ""))
}

func bearerOf(token string) Client { return Client{Authorization: []string{"Bearer " + token}} }

// SEC-5: a row for each token and each need.
func TestAuthorize_RolesDoNotIncludeEachOther(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t)})
	for token, allowed := range map[string]string{"r": "read", "s": "submit", "a": "read submit admin"} {
		for _, needed := range roles {
			i, err := a.Authorize(bearerOf(token), needed)
			if strings.Contains(allowed, string(needed)) {
				assert.NilError(t, err)
				assert.Assert(t, i.Allows(needed))
				continue
			}
			assert.ErrorIs(t, err, ErrForbidden)
			assert.ErrorContains(t, err, i.Name+" has the role "+allowed+", and this needs "+string(needed))
		}
	}
	assert.Equal(t, a.Counts().Refused()["role"], uint64(4))
}

// SEC-3: what a header may be.
func TestAuthorize_Headers(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t)})
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, header := range []string{"Bearer r", "bearer r", " Bearer   r ", "BEARER r", basic("r:r"), basic(":r"),
		strings.ToLower("Basic ") + basic("ann:r")[6:]} {
		i, err := a.Authorize(Client{Authorization: []string{header}}, Read)
		assert.NilError(t, err, "%q", header)
		assert.Equal(t, i.Name, "ann")
	}
	for _, c := range []struct {
		headers []string
		reason  Reason
		want    string
	}{
		{nil, Missing, "send a token"},
		{[]string{"Bearer r", "Bearer r"}, Malformed, "given 2 times"},
		{[]string{""}, Malformed, "no token"},
		{[]string{"r"}, Malformed, "no token"},
		{[]string{"Bearer"}, Malformed, "no token"},
		{[]string{"Bearer "}, Malformed, "no token"},
		{[]string{"Digest r"}, Malformed, "no token"},
		{[]string{"Basic r"}, Malformed, "Basic is malformed"},
		{[]string{basic("r")}, Malformed, "Basic is malformed"},
		{[]string{basic("ann:")}, Malformed, "empty token"},
		{[]string{"Bearer " + strings.Repeat("x", MaxToken+1)}, Malformed, "the token has 4097 bytes"},
		{[]string{"Bearer " + strings.Repeat("x", 60<<10)}, Malformed, "has 61447 bytes"},
		{[]string{"Bearer R"}, Unknown, "the token is unknown"},
		{[]string{"Bearer r x"}, Unknown, "the token is unknown"},
		{[]string{"Bearer " + HashToken("r")}, Unknown, "the token is unknown"},
	} {
		before := a.Counts().Refused()[c.reason.String()]
		i, err := a.Authorize(Client{Authorization: c.headers}, Read)
		assert.Assert(t, i == nil)
		assert.ErrorIs(t, err, ErrUnauthenticated)
		assert.ErrorContains(t, err, c.want)
		assert.Equal(t, a.Counts().Refused()[c.reason.String()], before+1, "%.60q", c.headers)
	}
}

// SEC-10: what needs no credentials is refused to wrong ones.
func TestAuthorize_AnonymousReadIsForClientsWithoutCredentials(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t), AnonymousRead: true})
	i, err := a.Authorize(Client{}, Read)
	assert.NilError(t, err)
	assert.Assert(t, i == nil)
	for _, needed := range []Role{Submit, Admin} {
		_, err := a.Authorize(Client{}, needed)
		assert.ErrorIs(t, err, ErrUnauthenticated)
	}
	_, err = a.Authorize(bearerOf("x"), Read)
	assert.ErrorIs(t, err, ErrUnauthenticated)
	_, err = a.Authorize(bearerOf("s"), Read)
	assert.ErrorIs(t, err, ErrForbidden)
}

// state returns the state of a connection of a client with a certificate that was verified.
func state(t *testing.T, pair testcert.Pair) *tls.ConnectionState {
	t.Helper()
	block, _ := pem.Decode(pair.Cert)
	c, err := x509.ParseCertificate(block.Bytes)
	assert.NilError(t, err)
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}
}

// SEC-8: certificates with and without a file of credentials.
func TestAuthorize_Certificates(t *testing.T) {
	ca := testcert.NewAuthority(t, "clients")
	alone := New(Options{})
	named := Client{TLS: state(t, ca.Client(t, "cn", testcert.Names("shim.example.org", "spiffe://example.org/shim")))}
	i, err := alone.Authorize(named, Submit)
	assert.NilError(t, err)
	assert.Equal(t, i.Name, "shim.example.org")
	assert.DeepEqual(t, i.RMs, []string{"shim.example.org", "spiffe://example.org/shim"})
	_, err = alone.Authorize(named, Read)
	assert.NilError(t, err)
	_, err = alone.Authorize(named, Admin)
	assert.ErrorIs(t, err, ErrForbidden)

	i, err = alone.Authorize(Client{TLS: state(t, ca.Client(t, "cn"))}, Submit)
	assert.NilError(t, err)
	assert.DeepEqual(t, i.RMs, []string{"cn"})
	for _, name := range []string{"", "a\nb"} {
		_, err = alone.Authorize(Client{TLS: state(t, ca.Client(t, name))}, Read)
		assert.ErrorContains(t, err, "no DNS name, URI or common name")
	}
	unverified := state(t, ca.Client(t, "cn"))
	unverified.VerifiedChains = nil
	_, err = alone.Authorize(Client{TLS: unverified}, Read)
	assert.ErrorIs(t, err, ErrUnauthenticated)

	listed := New(Options{Credentials: parse(t,
		"- {name: shim, role: submit, rmID: rm-1, certificate: 'spiffe://example.org/shim'}\n"+entry("ann", "read", "r",
			""))})
	i, err = listed.Authorize(named, Submit)
	assert.NilError(t, err)
	assert.Equal(t, i.Name, "shim")
	assert.DeepEqual(t, i.RMs, []string{"rm-1"})
	_, err = listed.Authorize(Client{TLS: state(t, ca.Client(t, "other"))}, Read)
	assert.ErrorContains(t, err, "the certificate of other is unknown")
	named.Authorization = []string{"Bearer r"}
	i, err = listed.Authorize(named, Read)
	assert.NilError(t, err)
	assert.Equal(t, i.Name, "ann", "the token decides")
	named.Authorization = []string{"Bearer x"}
	_, err = listed.Authorize(named, Submit)
	assert.ErrorContains(t, err, "the token is unknown")
}

// SEC-7: the ID is compared as a whole.
func TestCheckRM_BoundIdentity(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t)})
	i, err := a.Authorize(bearerOf("s"), Submit)
	assert.NilError(t, err)
	ctx := NewContext(t.Context(), i)
	assert.NilError(t, CheckRM(ctx, "rm-1"))
	for _, rm := range []string{"", "rm", "rm-10", "RM-1", strings.Repeat("x", 2000)} {
		err := CheckRM(ctx, rm)
		assert.ErrorIs(t, err, ErrForbidden)
		assert.ErrorContains(t, err, "shim may not use the rmID")
		assert.ErrorContains(t, err, "it is bound to rm-1")
		assert.Assert(t, len(err.Error()) < 300)
	}
	assert.NilError(t, CheckRM(t.Context(), "any"), "no credentials are required")
	ops, err := a.Authorize(bearerOf("a"), Submit)
	assert.NilError(t, err)
	assert.NilError(t, CheckRM(NewContext(t.Context(), ops), "any"))
}

// SEC-9: a withdrawn token ends what it has begun, and nothing else.
func TestSetCredentials_EndsWhatIsWithdrawn(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t)})
	serve := func(token string) context.Context {
		t.Helper()
		i, err := a.Authorize(bearerOf(token), Read)
		if errors.Is(err, ErrForbidden) {
			i, err = a.Authorize(bearerOf(token), Submit)
		}
		assert.NilError(t, err)
		ctx, done, err := a.Serve(t.Context(), bearerOf(token), i)
		assert.NilError(t, err)
		t.Cleanup(done)
		assert.Equal(t, FromContext(ctx).Name, i.Name)
		return ctx
	}
	reader, shim, ops := serve("r"), serve("s"), serve("a")
	a.SetCredentials(parse(t,
		entry("ann", "read", "r", "")+entry("shim", "submit", "s", ", rmID: rm-2")+entry("ops", "admin", "b", "")))
	assert.NilError(t, reader.Err())
	for _, ended := range []context.Context{shim, ops} {
		assert.ErrorIs(t, context.Cause(ended), ErrUnauthenticated)
		assert.ErrorContains(t, context.Cause(ended), "withdrawn")
	}
	_, err := a.Authorize(bearerOf("a"), Admin)
	assert.ErrorIs(t, err, ErrUnauthenticated)
	_, err = a.Authorize(bearerOf("b"), Admin)
	assert.NilError(t, err)
}

// A change between the check and the call finds the call.
func TestServe_RefusesWhatWasWithdrawnBefore(t *testing.T) {
	a := New(Options{Credentials: threeRoles(t)})
	i, err := a.Authorize(bearerOf("r"), Read)
	assert.NilError(t, err)
	a.SetCredentials(parse(t, entry("ops", "admin", "a", "")))
	_, _, err = a.Serve(t.Context(), bearerOf("r"), i)
	assert.ErrorIs(t, err, ErrUnauthenticated)
	assert.Equal(t, len(a.live), 0)
}

func TestAuthenticator_NilRequiresNothing(t *testing.T) {
	var a *Authenticator
	i, err := a.Authorize(Client{}, Admin)
	assert.NilError(t, err)
	ctx, done, err := a.Serve(t.Context(), Client{}, i)
	assert.NilError(t, err)
	done()
	assert.Equal(t, NameFromContext(ctx), Anonymous)
	assert.Assert(t, a.AnonymousMetrics())
	assert.Equal(t, len(a.Counts().Refused()), 0)
}
