package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// tokenFileVariable is the environment variable for --token-file.
const tokenFileVariable = "CANOPY_TOKEN_FILE"

// clientAccess are the flags of a command that is a client of a server, with which it shows its credentials (SEC-15).
type clientAccess struct {
	tokenFile, caCert, clientCert, clientKey string
	tls, insecure                            bool
}

func (a *clientAccess) add(flags *pflag.FlagSet) {
	flags.StringVar(&a.tokenFile, "token-file", "",
		"`FILE` with the token for the server (default the one that "+tokenFileVariable+" names)")
	flags.StringVar(&a.caCert, "ca-cert", "", "PEM `FILE` with the authority of the server, which speaks TLS")
	flags.StringVar(&a.clientCert, "client-cert", "",
		"PEM `FILE` with the certificate of this client; the server speaks TLS")
	flags.StringVar(&a.clientKey, "client-key", "", "PEM `FILE` with the private key of --client-cert")
	flags.BoolVar(&a.tls, "tls", false, "the server speaks TLS, with a certificate that this system accepts")
	flags.BoolVar(&a.insecure, "insecure", false, "send the token without TLS to another machine, too")
}

// usesTLS reports whether the server speaks TLS.
func (a *clientAccess) usesTLS() bool { return a.tls || a.caCert != "" || a.clientCert != "" }

// tlsConfig reads the files. nil: without TLS.
func (a *clientAccess) tlsConfig() (*tls.Config, error) {
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
func (a *clientAccess) token(address string) (string, error) {
	name, flag := a.tokenFile, "--token-file"
	if name == "" {
		name, flag = os.Getenv(tokenFileVariable), tokenFileVariable
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
	if host, _, err := net.SplitHostPort(address); err == nil && !a.usesTLS() && !a.insecure && !isLoopback(host) {
		return "",
			fmt.Errorf("%s: the token would be sent to %s without TLS: give --tls or --ca-cert, or --insecure to do it", flag,
				address)
	}
	return token, nil
}

// load reads the files for a server.
func (a *clientAccess) load(address string) (c *tls.Config, token string, err error) {
	if c, err = a.tlsConfig(); err != nil {
		return nil, "", exitError{exitUsage, err}
	}
	if token, err = a.token(address); err != nil {
		return nil, "", exitError{exitUsage, err}
	}
	return c, token, nil
}

// httpClient is a client of the REST API of a server. It speaks TLS if the flags say so, also for a URL that begins
// with http. timeout bounds each answer; 0: nothing does. An error is an exitError with exitUsage.
func (a *clientAccess) httpClient(address string, timeout time.Duration) (*http.Client, error) {
	c, token, err := a.load(address)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c
	return &http.Client{Timeout: timeout, Transport: &accessTransport{next: transport, tls: c != nil, token: token}}, nil
}

// dialOptions are the options of a client of the gRPC API of a server. An error is an exitError with exitUsage.
func (a *clientAccess) dialOptions(address string) ([]grpc.DialOption, error) {
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
