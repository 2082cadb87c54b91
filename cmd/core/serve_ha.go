package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// haFlags make the process a member of a group, of which one leads.
type haFlags struct {
	kind string // etcd; empty: the process is alone
	canopy.HA
}

// haFlag is the flag without which the others have no meaning.
const haFlag = "ha"

// haOptionNames are the flags of options of package canopy about a group.
var haOptionNames = map[string]string{
	"HA.Etcd.Endpoints": "--etcd-endpoints", "HA.Etcd.Prefix": "--etcd-prefix", "HA.Etcd.TTL": "--etcd-ttl",
	"HA.Etcd.CAFile":   "--etcd-ca",
	"HA.Etcd.CertFile": "--etcd-cert", "HA.Etcd.KeyFile": "--etcd-key", "HA.Etcd.User": "--etcd-user",
	"HA.Etcd.PasswordFile": "--etcd-password-file",
	"HA.Etcd":              "--ha", "HA.AdvertiseGRPC": "--advertise-grpc", "HA.AdvertiseHTTP": "--advertise-http",
}

// haFlagNames are the flags that need --ha.
var haFlagNames = []string{
	"etcd-endpoints", "etcd-prefix", "etcd-ttl", "etcd-ca", "etcd-cert", "etcd-key", "etcd-user", "etcd-password-file",
	"ha-name", "advertise-grpc", "advertise-http",
}

func (f *haFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kind, haFlag, "",
		"`KIND` of the group that this process is a member of: etcd; one member leads, the others stand by (default: the "+
			"process is alone)")
	flags.StringSliceVar(&f.Etcd.Endpoints, "etcd-endpoints", nil,
		"`HOST:PORT,...` of etcd, or URLs with http or https, for --ha etcd")
	flags.StringVar(&f.Etcd.Prefix, "etcd-prefix", canopy.DefaultEtcdPrefix, "`PREFIX` of the keys of the group in etcd")
	flags.DurationVar(&f.Etcd.TTL, "etcd-ttl", canopy.DefaultEtcdTTL,
		fmt.Sprintf("after how long without a sign of the leader another member leads, %v to %v in whole seconds",
			canopy.MinEtcdTTL, canopy.MaxEtcdTTL))
	flags.StringVar(&f.Etcd.CAFile, "etcd-ca", "",
		"`FILE` with the authorities of the certificates of etcd, PEM (default: those of the system)")
	flags.StringVar(&f.Etcd.CertFile, "etcd-cert", "", "`FILE` with the certificate of this member for etcd, PEM")
	flags.StringVar(&f.Etcd.KeyFile, "etcd-key", "", "`FILE` with the private key of --etcd-cert, PEM")
	flags.StringVar(&f.Etcd.User, "etcd-user", "", "`USER` of etcd (default: without authentication)")
	flags.StringVar(&f.Etcd.PasswordFile, "etcd-password-file", "",
		"`FILE` whose first line is the password of --etcd-user")
	flags.StringVar(&f.Name, "ha-name", "",
		"`NAME` of this member in logs and answers (default: what --advertise-grpc is)")
	flags.StringVar(&f.AdvertiseGRPC, "advertise-grpc", "",
		"`HOST:PORT` at which resource managers reach --grpc-address of this member (default: the address that it "+
			"listens on)")
	flags.StringVar(&f.AdvertiseHTTP, "advertise-http", "",
		"`HOST:PORT` at which clients reach --http-address of this member (default: the address that it listens on)")
}

// check reports flags that contradict each other (HA-1).
func (f *haFlags) check(flags *pflag.FlagSet) error {
	var wrong []error
	switch f.kind {
	case "etcd":
		for name, why := range map[string]string{
			"demo":     "the demo runs in the process of its scheduler, and another member may lead",
			"data-dir": "it belongs to one member, and another one leads after it",
		} {
			if flags.Changed(name) && flags.Lookup(name).Value.String() != "false" {
				wrong = append(wrong, fmt.Errorf("--%s cannot be used with --ha: %s", name, why))
			}
		}
		if len(f.Etcd.Endpoints) == 0 {
			wrong = append(wrong, errors.New("--ha etcd needs --etcd-endpoints"))
		}
	case "":
		for _, name := range haFlagNames {
			if flags.Changed(name) {
				wrong = append(wrong, fmt.Errorf("--%s needs --ha etcd", name))
			}
		}
	default:
		wrong = append(wrong, fmt.Errorf("--ha is %q, and must be etcd", f.kind))
	}
	slices.SortFunc(wrong, func(a, b error) int { return len(a.Error()) - len(b.Error()) })
	return errors.Join(wrong...)
}

// runningScheduler is run by serve: a server, or a member of a group.
type runningScheduler interface {
	GRPCAddress() net.Addr
	HTTPAddress() net.Addr
	AdminAddress() net.Addr
	ReloadFile(ctx context.Context) (canopy.Generation, error)
	Done() <-chan struct{}
	Err() error
	Close() error
	Closing() []string
}

// start starts a server or, with --ha, a member of a group.
func (f *haFlags) start(ctx context.Context, opt canopy.Options) (runningScheduler, error) {
	if f.kind == "" {
		s, err := canopy.Start(ctx, opt)
		if err != nil {
			return nil, err // not a nil *Server
		}
		return s, nil
	}
	m, err := canopy.StartMember(ctx, opt, f.HA)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// readyNote returns the end of a member's ready line.
func (f *haFlags) readyNote() string {
	if f.kind == "" {
		return ""
	}
	return " ha=" + f.kind
}
