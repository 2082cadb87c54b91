package auth

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

// handshake connects with two configurations, and returns what the client and the server have seen.
func handshake(t *testing.T, server, client *tls.Config) (seen tls.ConnectionState, clientErr, serverErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		seen = c.ConnectionState()
		_, err = io.ReadAll(c) // in TLS 1.3 a client learns here that its certificate is refused
		_ = c.Close()
	}
	return seen, err, <-done
}

func pool(a *testcert.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.PEM)
	return p
}

func clientPair(t *testing.T, pair testcert.Pair) []tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(pair.Cert, pair.Key)
	assert.NilError(t, err)
	return []tls.Certificate{c}
}

// SEC-2: versions, and a new pair at the next handshake.
func TestKeyPair_VersionsAndChange(t *testing.T) {
	ca := testcert.NewAuthority(t, "servers")
	first, second := ca.Server(t), ca.Server(t)
	k, err := NewKeyPair(first.Cert, first.Key, nil)
	assert.NilError(t, err)
	config, client := k.Config("http/1.1"), &tls.Config{RootCAs: pool(ca), ServerName: "localhost"}
	seen, clientErr, _ := handshake(t, config, client)
	assert.NilError(t, clientErr)
	assert.Equal(t, seen.Version, uint16(tls.VersionTLS13))
	before := seen.PeerCertificates[0].SerialNumber

	client.MaxVersion = tls.VersionTLS12
	seen, clientErr, _ = handshake(t, config, client)
	assert.NilError(t, clientErr)
	assert.Equal(t, seen.Version, uint16(tls.VersionTLS12))
	client.MinVersion, client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, clientErr, serverErr := handshake(t, config, client)
	assert.ErrorContains(t, clientErr, "protocol version")
	assert.ErrorContains(t, serverErr, "unsupported versions")
	client.MinVersion, client.MaxVersion = 0, 0

	assert.NilError(t, k.Set(second.Cert, second.Key, nil))
	seen, clientErr, _ = handshake(t, config, client)
	assert.NilError(t, clientErr)
	assert.Assert(t, seen.PeerCertificates[0].SerialNumber.Cmp(before) != 0)
	assert.Assert(t, k.Expires().After(time.Now()))
}

// SEC-2: a pair that cannot be used leaves the one in force.
func TestKeyPair_RefusesWhatCannotBeUsed(t *testing.T) {
	ca := testcert.NewAuthority(t, "servers")
	good, other := ca.Server(t), ca.Server(t)
	k, err := NewKeyPair(good.Cert, good.Key, nil)
	assert.NilError(t, err)
	for _, c := range []struct {
		cert, key, ca []byte
		want          string
	}{
		{good.Cert, other.Key, nil, "private key does not match public key"},
		{good.Key, good.Key, nil, "certificate"},
		{nil, nil, nil, "certificate"},
		{good.Cert[:50], good.Key, nil, "certificate"},
		{good.Cert, []byte("x"), nil, "key"},
		{other.Cert, other.Key, []byte("x"), "no certificate of an authority"},
		{other.Cert, other.Key, good.Key, "no certificate of an authority"},
		{other.Cert, other.Key, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
			"certificate 1 of the authorities"},
	} {
		assert.ErrorContains(t, k.Set(c.cert, c.key, c.ca), c.want)
	}
	_, err = NewKeyPair(nil, nil, nil)
	assert.Assert(t, err != nil)
	seen, clientErr, _ := handshake(t, k.Config(), &tls.Config{RootCAs: pool(ca), ServerName: "localhost"})
	assert.NilError(t, clientErr)
	want, err := tls.X509KeyPair(good.Cert, good.Key)
	assert.NilError(t, err)
	assert.Assert(t, seen.PeerCertificates[0].Equal(want.Leaf))
}

// SEC-8: which certificates of clients a handshake accepts.
func TestKeyPair_ClientCertificates(t *testing.T) {
	ca, clients, others := testcert.NewAuthority(t, "servers"), testcert.NewAuthority(t, "clients"),
		testcert.NewAuthority(t, "others")
	pair := ca.Server(t)
	k, err := NewKeyPair(pair.Cert, pair.Key, clients.PEM)
	assert.NilError(t, err)
	connect := func(certificates []tls.Certificate) error {
		always := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
		if certificates == nil {
			always = nil
		}
		_, clientErr, serverErr := handshake(t, k.Config(),
			&tls.Config{RootCAs: pool(ca), ServerName: "localhost", GetClientCertificate: always})
		if serverErr == nil {
			assert.NilError(t, clientErr)
		}
		return serverErr
	}
	assert.NilError(t, connect(nil), "a probe has none")
	assert.NilError(t, connect(clientPair(t, clients.Client(t, "shim"))))
	assert.ErrorContains(t, connect(clientPair(t, others.Client(t, "shim"))), "unknown authority")
	assert.ErrorContains(t, connect(clientPair(t, clients.Client(t, "shim", testcert.Expired))), "expired")
	assert.ErrorContains(t, connect(clientPair(t, clients.Server(t))), "incompatible key usage")

	shim := clientPair(t, others.Client(t, "shim"))
	assert.NilError(t, k.Set(pair.Cert, pair.Key, others.PEM), "another authority")
	assert.NilError(t, connect(shim))
	assert.ErrorContains(t, connect(clientPair(t, clients.Client(t, "shim"))), "unknown authority")
}
