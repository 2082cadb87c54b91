package main

import (
	"fmt"
	"io"
	"net"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// announce writes the ready line to the log and to standard output. It does not wait for standard
// output, which may be a pipe that is not read (OBS-69). failed gets its error.
func announce(server *canopy.Server, log *zap.Logger, out io.Writer, failed chan<- error) {
	fields := []zap.Field{zap.Stringer("grpc", server.GRPCAddress()), zap.Stringer("http", server.HTTPAddress())}
	if admin := server.AdminAddress(); admin != nil {
		fields = append(fields, zap.String("admin", adminText(admin)))
	}
	warnOfOpenGRPC(server.GRPCAddress(), log)
	log.Info("ready", fields...)
	go func() {
		if _, err := fmt.Fprintln(out, readyLine(server)); err != nil {
			failed <- fmt.Errorf("announce readiness: %w", err)
		}
	}()
}

// readyLine is the line on standard output.
func readyLine(server *canopy.Server) string {
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

// warnOfOpenGRPC warns if other machines can reach the gRPC address (RMI-70).
func warnOfOpenGRPC(grpc net.Addr, log *zap.Logger) {
	if at, ok := grpc.(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		log.Warn("--grpc-address can be reached from other machines: any client there may register, as there is no authentication",
			zap.Stringer("grpc", at))
	}
}
