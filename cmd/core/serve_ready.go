package main

import (
	"fmt"
	"io"
	"net"

	"go.uber.org/zap"
)

// announce writes the ready line to the log and to standard output. It does not wait for standard
// output, which may be a pipe that is not read (OBS-69). failed gets its error.
func (f *serveFlags) announce(server runningScheduler, log *zap.Logger, out io.Writer, failed chan<- error) {
	fields := []zap.Field{zap.Stringer("grpc", server.GRPCAddress()), zap.Stringer("http", server.HTTPAddress())}
	if admin := server.AdminAddress(); admin != nil {
		fields = append(fields, zap.String("admin", adminText(admin)))
	}
	f.security.warnOfOpenAddresses(server, log)
	log.Info("ready", fields...)
	go func() {
		if _, err := fmt.Fprintln(out, readyLine(server)+f.ha.readyNote()); err != nil {
			failed <- fmt.Errorf("announce readiness: %w", err)
		}
	}()
}

// readyLine is the line on standard output.
func readyLine(server runningScheduler) string {
	line := fmt.Sprintf("canopy ready grpc=%s http=%s", server.GRPCAddress(), server.HTTPAddress())
	if admin := server.AdminAddress(); admin != nil {
		line += " admin=" + adminText(admin)
	}
	return line
}

// adminText is an address in the form of --admin-listen.
func adminText(at net.Addr) string {
	if at.Network() == "unix" {
		return "unix:" + at.String()
	}
	return at.String()
}
