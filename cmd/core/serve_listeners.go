package main

import (
	"errors"
	"fmt"
	"net"

	"go.uber.org/zap"
)

// listeners are the listeners of a server.
type listeners struct{ grpc, http, admin net.Listener } // admin: nil without --admin

// openListeners opens all ports, or none.
func openListeners(f serveFlags) (d listeners, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if f.adminListen != "" && !f.admin {
		return d, exitError{exitUsage, errors.New("--admin-listen needs --admin")}
	}
	if f.admin {
		where := f.adminListen
		if where == "" {
			where = defaultAdmin
		}
		if d.admin, err = listenAdmin(where); err != nil {
			return d, err
		}
	}
	if d.grpc, err = listen("--grpc-address", f.grpcAddress); err != nil {
		return d, err
	}
	if f.grpc.connections > 0 {
		d.grpc = limitConnections(d.grpc, f.grpc.connections)
	}
	d.http, err = listen("--http-address", f.httpAddress)
	return d, err
}

// String is the ready line.
func (d listeners) String() string {
	line := fmt.Sprintf("canopy ready grpc=%s http=%s", d.grpc.Addr(), d.http.Addr())
	if d.admin != nil {
		line += " admin=" + adminAddress(d.admin)
	}
	return line
}

func (d listeners) close() (err error) {
	for _, l := range []net.Listener{d.grpc, d.http, d.admin} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// warnOfOpenGRPC warns if other machines can reach the gRPC address (RMI-70).
func (s *servers) warnOfOpenGRPC(grpc net.Listener) {
	if at, ok := grpc.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		s.log.Warn("--grpc-address can be reached from other machines: any client there may register, as there is no authentication",
			zap.Stringer("grpc", at))
	}
}

// listen opens a port. Errors name the flag.
func listen(flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, exitError{exitUsage, fmt.Errorf("%s: %w", flag, err)}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, exitError{exitRefused, fmt.Errorf("%s: %w", flag, err)}
	}
	return l, nil
}
