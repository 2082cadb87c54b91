package auth

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// KeyPair is the certificate and the private key of the listeners, and the authority that signs the certificates of
// clients. It is safe for concurrent use; connections that are opened after a change use the new content (SEC-2).
type KeyPair struct{ current atomic.Pointer[tls.Config] }

// NewKeyPair reads PEM texts. clientCA has the certificates of the authorities of clients; nil: clients are not asked
// for a certificate.
func NewKeyPair(cert, key, clientCA []byte) (*KeyPair, error) {
	k := &KeyPair{}
	return k, k.Set(cert, key, clientCA)
}

// Set replaces everything, or on an error nothing.
func (k *KeyPair) Set(cert, key, clientCA []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("the certificate and its key: %w", err)
	}
	c := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		// A resumed session would not ask whether the certificate of the client is still good.
		SessionTicketsDisabled: true,
	}
	if clientCA != nil {
		if c.ClientCAs, err = ParseAuthorities(clientCA); err != nil {
			return err
		}
		// A client may come without a certificate: a probe, or one with a token.
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	k.current.Store(c)
	return nil
}

// Config returns the settings of a listener. protocols are offered by ALPN.
func (k *KeyPair) Config(protocols ...string) *tls.Config {
	base := k.current.Load()
	return &tls.Config{
		MinVersion: base.MinVersion, NextProtos: protocols, Certificates: base.Certificates,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := k.current.Load().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// Expires returns the end of the validity of the certificate of the listeners.
func (k *KeyPair) Expires() time.Time { return k.current.Load().Certificates[0].Leaf.NotAfter }

// ParseAuthorities reads the certificates of authorities: PEM, at least one.
func ParseAuthorities(text []byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of the authorities: %w", n+1, err)
		}
		pool.AddCert(c)
		n++
	}
	if n == 0 {
		return nil, errors.New("the file has no certificate of an authority (PEM, CERTIFICATE)")
	}
	return pool, nil
}
