package canopy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/ha/election/etcd"
)

// HA makes a Server a member of a group, of which one leads (docs/HA.md).
type HA struct {
	// Name names the member, for log lines and the answers of standbys. Empty: the first address that it advertises.
	Name string
	// AdvertiseGRPC and AdvertiseHTTP are HOST:PORT at which others reach the listeners of this member. Empty: their own
	// addresses, which must not be those of all interfaces then.
	AdvertiseGRPC, AdvertiseHTTP string
	Etcd                         Etcd // which the members share
}

// Etcd says where the members of a group elect their leader.
type Etcd struct {
	Endpoints []string // HOST:PORT or URLs with http or https; at least one
	Prefix    string   // of the keys of the group; default /canopy
	// TTL is after how long without a sign of the leader another member leads: 2 s to 5 min, in whole seconds; default 10
	// s. etcd gives at least 1.5 times its election timeout.
	TTL time.Duration
	// CAFile is a PEM file with the authorities of etcd; empty: those of the system, for endpoints with https.
	CAFile            string
	CertFile, KeyFile string // PEM files with the certificate of the member for etcd; empty: none
	User              string // empty: without authentication
	PasswordFile      string // its first line is the password of User
}

// Bounds of Etcd.
const (
	DefaultEtcdPrefix = "/canopy"
	DefaultEtcdTTL    = 10 * time.Second
	MinEtcdTTL        = 2 * time.Second
	MaxEtcdTTL        = 5 * time.Minute
)

// MemberInfo has what a member knows of the leader of its group.
type MemberInfo struct {
	Name  string `json:"name"`
	GRPC  string `json:"grpc,omitempty"` // HOST:PORT; empty: it has no gRPC server
	HTTP  string `json:"http,omitempty"` // a URL without a path; empty: it has no HTTP server
	Epoch int64  `json:"epoch"`          // of its term: higher than those of all earlier terms
}

func memberInfo(l election.Leader, epoch int64) MemberInfo {
	return MemberInfo{Name: l.Name, GRPC: l.GRPC, HTTP: l.HTTP, Epoch: epoch}
}

// complete fills the defaults in.
func (h *HA) complete() {
	if h.Etcd.Prefix == "" {
		h.Etcd.Prefix = DefaultEtcdPrefix
	}
	if h.Etcd.TTL == 0 {
		h.Etcd.TTL = DefaultEtcdTTL
	}
}

// config returns the settings of the connection to etcd, for the group with a name.
func (h *HA) config(group string) etcd.Config {
	e := h.Etcd
	return etcd.Config{
		Endpoints: e.Endpoints, Prefix: e.Prefix, Group: group, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile,
		User: e.User, PasswordFile: e.PasswordFile, Timeout: e.TTL / 6,
	}
}

// checkHA reports the options that a member cannot have (HA-1).
func (o *Options) checkHA(h *HA, wrong func(field, format string, args ...any)) {
	if t := h.Etcd.TTL; t < MinEtcdTTL || t > MaxEtcdTTL || t%time.Second != 0 {
		wrong("HA.Etcd.TTL", "%v is not a number of seconds from %v to %v", t, MinEtcdTTL, MaxEtcdTTL)
	}
	if o.DataDir != "" {
		wrong("DataDir", "%q is a directory of one member, and another one leads after it: leave it out", o.DataDir)
	}
	if o.GRPC.Address == "" && o.HTTP.Address == "" {
		wrong("GRPC.Address", "a member without a listener cannot be reached when it leads")
	}
	for _, x := range []struct{ field, address string }{{"HA.AdvertiseGRPC", h.AdvertiseGRPC},
		{"HA.AdvertiseHTTP", h.AdvertiseHTTP}} {
		if err := checkAdvertised(x.address); x.address != "" && err != nil {
			wrong(x.field, "%q: %w", x.address, err)
		}
	}
	c := h.config("")
	c.Check(func(field, format string, args ...any) { wrong("HA.Etcd."+field, format, args...) })
}

// checkAdvertised is an error for an address that other machines cannot connect to.
func checkAdvertised(address string) error {
	host, port, err := net.SplitHostPort(address)
	switch ip := net.ParseIP(host); {
	case err != nil:
		return err
	case host == "" || ip != nil && ip.IsUnspecified():
		return errors.New("it has no host that others can connect to")
	case port == "" || port == "0":
		return errors.New("it has no port that others can connect to")
	}
	if u, err := url.Parse("http://" + address); err != nil || u.Host != address {
		return errors.New("it is not HOST:PORT")
	}
	return nil
}

// advertised returns this member's entry in the leader's key. Requires: the listeners are open.
func (o *Options) advertised(h *HA, opened listeners) (election.Leader, error) {
	self := election.Leader{Name: h.Name}
	var all []error
	address := func(field, given string, on net.Listener) string {
		if on == nil {
			return ""
		}
		if given == "" {
			given = on.Addr().String()
			if err := checkAdvertised(given); err != nil {
				all = append(all, o.invalid(field, fmt.Errorf("it is needed, because the listener is at %s: %w", given, err)))
			}
		}
		return given
	}
	self.GRPC = address("HA.AdvertiseGRPC", h.AdvertiseGRPC, opened.grpc)
	if at := address("HA.AdvertiseHTTP", h.AdvertiseHTTP, opened.http); at != "" {
		scheme := "http"
		if o.Security.CertFile != "" {
			scheme = "https"
		}
		self.HTTP = scheme + "://" + at
	}
	switch {
	case self.Name != "":
	case self.GRPC != "":
		self.Name = self.GRPC
	default:
		self.Name = self.HTTP
	}
	return self, errors.Join(all...)
}
