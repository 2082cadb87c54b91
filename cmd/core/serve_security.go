package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// securityFlags are the flags of TLS and of credentials (SEC-1).
type securityFlags struct {
	canopy.Security
	insecure bool
}

func (f *securityFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.CertFile, "tls-cert", "",
		"PEM `FILE` with the certificate of the listeners, which then speak TLS; it is read again when it changes")
	flags.StringVar(&f.KeyFile, "tls-key", "", "PEM `FILE` with the private key of --tls-cert")
	flags.StringVar(&f.ClientCAFile, "tls-client-ca", "",
		"PEM `FILE` with the authorities of client certificates, with which clients need no token")
	flags.StringVar(&f.TokensFile, "tokens", "",
		"`FILE` of credentials, such as 'canopy token new' makes: clients need one of them")
	flags.BoolVar(&f.AnonymousRead, "anonymous-read", false,
		"reading over HTTP needs no credentials, although the rest does")
	flags.BoolVar(&f.AnonymousMetrics, "anonymous-metrics", false, "/metrics needs no credentials, although the rest does")
	flags.BoolVar(&f.insecure, "insecure", false,
		"serve addresses that other machines can reach although TLS or authentication is missing")
}

// securityOptionNames are the flags of the options.
var securityOptionNames = map[string]string{
	"Security.CertFile": "--tls-cert", "Security.KeyFile": "--tls-key", "Security.ClientCAFile": "--tls-client-ca",
	"Security.TokensFile": "--tokens", "Security.AnonymousRead": "--anonymous-read",
	"Security.AnonymousMetrics": "--anonymous-metrics",
}

// missing names what an address still needs before other machines may reach it; empty: nothing.
func (f *securityFlags) missing() string {
	tls, authentication := f.CertFile != "", f.TokensFile != "" || f.ClientCAFile != ""
	switch {
	case tls && authentication:
		return ""
	case tls:
		return "authentication (--tokens or --tls-client-ca)"
	case authentication:
		return "TLS (--tls-cert and --tls-key)"
	}
	return "TLS (--tls-cert and --tls-key) and authentication (--tokens or --tls-client-ca)"
}

// checkAddress refuses an address that other machines can reach without TLS and authentication (SEC-1).
func (f *securityFlags) checkAddress(flag, address string) error {
	host, _, err := net.SplitHostPort(address)
	missing := f.missing()
	if err != nil || f.insecure || missing == "" || cmdline.IsLoopback(host) {
		return nil
	}
	return fmt.Errorf("%s: other machines can reach %s, which needs %s, or --insecure to serve it to every client that "+
		"reaches it", flag, address, missing)
}

// checkAddresses checks the addresses of both listeners.
func (f *securityFlags) checkAddresses(grpc, http string) error {
	return errors.Join(f.checkAddress("--grpc-address", grpc), f.checkAddress("--http-address", http))
}

// warnOfOpenAddresses warns of the addresses that --insecure has opened (RMI-70, SEC-1).
func (f *securityFlags) warnOfOpenAddresses(server runningScheduler, log *zap.Logger) {
	missing := f.missing()
	if missing == "" {
		return
	}
	for flag, at := range map[string]net.Addr{"--grpc-address": server.GRPCAddress(),
		"--http-address": server.HTTPAddress()} {
		if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			log.Warn("an address can be reached from other machines although it is not secure", zap.String("flag", flag),
				zap.Stringer("address", at), zap.String("missing", missing))
		}
	}
}
