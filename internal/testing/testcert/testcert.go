// Package testcert makes authorities and certificates for tests. Nothing is kept outside of the test.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  []byte // its certificate
}

// Pair is a certificate and its private key, PEM.
type Pair struct{ Cert, Key []byte }

var serial atomic.Int64

// NewAuthority makes an authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der := sign(t, template, template, key, key)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return &Authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// Server makes a certificate of a server on the loopback addresses.
func (a *Authority) Server(t testing.TB, edit ...func(*x509.Certificate)) Pair {
	return a.issue(t, x509.ExtKeyUsageServerAuth, append([]func(*x509.Certificate){func(c *x509.Certificate) {
		c.Subject.CommonName, c.DNSNames = "server", []string{"localhost"}
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}}, edit...)...)
}

// Client makes a certificate of a client with a common name.
func (a *Authority) Client(t testing.TB, name string, edit ...func(*x509.Certificate)) Pair {
	return a.issue(t, x509.ExtKeyUsageClientAuth, append([]func(*x509.Certificate){func(c *x509.Certificate) {
		c.Subject.CommonName = name
	}}, edit...)...)
}

// Expired is a change of a certificate that is not valid any more.
func Expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
}

// Names is a change of the DNS names and URIs of a certificate: a name with a colon is a URI.
func Names(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.DNSNames = nil
		for _, name := range names {
			if u, err := url.Parse(name); err == nil && u.Scheme != "" {
				c.URIs = append(c.URIs, u)
			} else {
				c.DNSNames = append(c.DNSNames, name)
			}
		}
	}
}

func (a *Authority) issue(t testing.TB, usage x509.ExtKeyUsage, edit ...func(*x509.Certificate)) Pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	for _, e := range edit {
		e(template)
	}
	key := newKey(t)
	der := sign(t, template, a.cert, key, a.key)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// Write writes files to a directory, by their names.
func Write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(t, err)
	return der
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
