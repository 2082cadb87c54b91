package cmdline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
)

// TokenFileVariable is the environment variable for --token-file.
const TokenFileVariable = "CANOPY_TOKEN_FILE"

// ClientAccess are the flags of a command that is a client of a server, with which it shows its credentials (SEC-15).
type ClientAccess struct {
	tokenFile, caCert, clientCert, clientKey string
	tls, insecure                            bool
}

// Add adds the flags.
func (a *ClientAccess) Add(flags *pflag.FlagSet) {
	flags.StringVar(&a.tokenFile, "token-file", "",
		"`FILE` with the token for the server (default the one that "+TokenFileVariable+" names)")
	flags.StringVar(&a.caCert, "ca-cert", "", "PEM `FILE` with the authority of the server, which speaks TLS")
	flags.StringVar(&a.clientCert, "client-cert", "",
		"PEM `FILE` with the certificate of this client; the server speaks TLS")
	flags.StringVar(&a.clientKey, "client-key", "", "PEM `FILE` with the private key of --client-cert")
	flags.BoolVar(&a.tls, "tls", false, "the server speaks TLS, with a certificate that this system accepts")
	flags.BoolVar(&a.insecure, "insecure", false, "send the token without TLS to another machine, too")
}

// usesTLS reports whether the server speaks TLS.
func (a *ClientAccess) usesTLS() bool { return a.tls || a.caCert != "" || a.clientCert != "" }

// tlsConfig reads the files. nil: without TLS.
func (a *ClientAccess) tlsConfig() (*tls.Config, error) {
	switch {
	case a.clientCert == "" && a.clientKey != "":
		return nil, errors.New("--client-key needs --client-cert")
	case a.clientCert != "" && a.clientKey == "":
		return nil, errors.New("--client-cert needs --client-key")
	case !a.usesTLS():
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.caCert != "" {
		text, err := configwatch.Read(a.caCert, auth.MaxFileBytes)
		if err == nil {
			c.RootCAs, err = auth.ParseAuthorities(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--ca-cert: %w", err)
		}
	}
	if a.clientCert != "" {
		pair, err := tls.LoadX509KeyPair(a.clientCert, a.clientKey)
		if err != nil {
			return nil, fmt.Errorf("--client-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// token reads the token for a server; empty: none was given.
func (a *ClientAccess) token(address string) (string, error) {
	name, flag := a.tokenFile, "--token-file"
	if name == "" {
		name, flag = os.Getenv(TokenFileVariable), TokenFileVariable
	}
	if name == "" {
		return "", nil
	}
	text, err := configwatch.Read(name, auth.MaxFileBytes)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(text))
	if err := auth.CheckName("the token", token, auth.MaxToken); err != nil || strings.ContainsAny(token, " \n") {
		return "", fmt.Errorf("%s: %s has no token, which is one word", flag, name)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && !a.usesTLS() && !a.insecure && !IsLoopback(host) {
		return "",
			fmt.Errorf("%s: the token would be sent to %s without TLS: give --tls or --ca-cert, or --insecure to do it", flag,
				address)
	}
	return token, nil
}

// load reads the files for a server.
func (a *ClientAccess) load(address string) (c *tls.Config, token string, err error) {
	if c, err = a.tlsConfig(); err != nil {
		return nil, "", Exit(Usage, err)
	}
	if token, err = a.token(address); err != nil {
		return nil, "", Exit(Usage, err)
	}
	return c, token, nil
}

// HTTPClient is a client of the REST API of a server. It speaks TLS if the flags say so, also for a URL that begins
// with http. timeout bounds each answer; 0: nothing does. An error is an ExitError with Usage.
func (a *ClientAccess) HTTPClient(address string, timeout time.Duration) (*http.Client, error) {
	c, token, err := a.load(address)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c
	return &http.Client{Timeout: timeout, Transport: &accessTransport{next: transport, tls: c != nil, token: token}}, nil
}

// DialOptions are the options of a client of the gRPC API of a server. An error is an ExitError with Usage.
func (a *ClientAccess) DialOptions(address string) ([]grpc.DialOption, error) {
	c, token, err := a.load(address)
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if c != nil {
		transport = credentials.NewTLS(c)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(token)))
	}
	return options, nil
}

// bearer is a token of calls. Whether it may be sent without TLS was decided before.
type bearer string

// GetRequestMetadata is part of credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity is part of credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return false }

// IsLoopback reports whether a host is this machine alone, without asking DNS.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
