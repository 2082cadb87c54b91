package canopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// defaultGRPCConnections is for GRPC.MaxConnections.
const defaultGRPCConnections = 128

// listeners are the listeners of a Server; nil where the option has no address.
type listeners struct {
	grpc, http, admin net.Listener
}

// openListeners opens all ports. After an error the caller must close those that are open.
func (o *Options) openListeners(ctx context.Context) (l listeners, err error) {
	if o.AdminAddress != "" {
		if l.admin, err = o.listenAdmin(o.AdminAddress); err != nil {
			return l, err
		}
	}
	if o.GRPC.Address != "" {
		on, err := o.listen(ctx, "GRPC.Address", o.GRPC.Address)
		if err != nil {
			return l, err
		}
		l.grpc = limitConnections(on, cmp.Or(o.GRPC.MaxConnections, defaultGRPCConnections), cmp.Or(o.Log, zap.NewNop()))
	}
	if o.HTTP.Address != "" {
		l.http, err = o.listen(ctx, "HTTP.Address", o.HTTP.Address)
	}
	return l, err
}

// listen opens a port.
func (o *Options) listen(ctx context.Context, field, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, o.invalid(field, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, o.refused(field, err)
	}
	return l, nil
}

func (l listeners) close() (err error) {
	for _, l := range []net.Listener{l.grpc, l.http, l.admin} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// serve serves the listeners.
func (s *Server) serve() {
	if s.grpc != nil {
		s.serving.Go(func() {
			// It may be stopped before it serves.
			if err := s.grpc.Serve(s.listeners.grpc); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				s.stopped(fmt.Errorf("grpc: %w", err))
			}
		})
	}
	if s.http != nil {
		s.serveHTTP("http", s.http, s.listeners.http)
	}
	if s.admin != nil {
		s.serveHTTP("admin", s.admin, s.listeners.admin)
	}
}

func (s *Server) serveHTTP(name string, server *httpserver.Server, on net.Listener) {
	s.serving.Go(func() {
		if err := server.Serve(on); !errors.Is(err, http.ErrServerClosed) {
			s.stopped(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// checkHost answers for the names of the listener of HTTP.Address only (RST-4).
func (o *Options) checkHost(h http.Handler) http.Handler {
	names := o.HTTP.HostNames
	if own, _, err := net.SplitHostPort(o.HTTP.Address); err == nil && own != "" {
		names = append(slices.Clone(names), strings.TrimSuffix(own, "."))
	}
	return httpserver.CheckHost(h, names, webservice.AnyHostPaths, o.optionName("HTTP.HostNames"))
}

// newHTTPServer returns a server for h and a listener. counts are shared by all servers of the process.
func newHTTPServer(opt *Options, to *zap.Logger, secured *security, h http.Handler, counts *httpserver.Counts,
	on net.Listener) *httpserver.Server {
	return httpserver.New(h, httpserver.Options{
		MaxConnections: opt.HTTP.MaxConnections, StallTimeout: opt.HTTP.StallTimeout, Liveness: webservice.Liveness,
		Counts: counts, ErrorLog: log.New(httpErrors{to}, "", 0), TLS: secured.httpTLS(on),
	})
}

// httpErrors logs what the HTTP server of the standard library reports, such as failed handshakes. The message is the
// same for all of them, so that a flood is few lines (OBS-71).
type httpErrors struct{ log *zap.Logger }

// Write is part of io.Writer.
func (e httpErrors) Write(text []byte) (int, error) {
	e.log.Info("an HTTP connection failed", zap.String("error", strings.TrimSpace(string(text))))
	return len(text), nil
}

// GRPCAddress returns the address of the gRPC server; nil: there is none.
func (l listeners) GRPCAddress() net.Addr { return addressOf(l.grpc) }

// HTTPAddress returns the address of the HTTP server; nil: there is none.
func (l listeners) HTTPAddress() net.Addr { return addressOf(l.http) }

// AdminAddress returns the address of the admin server; nil: there is none. Its network is tcp or unix.
func (l listeners) AdminAddress() net.Addr { return addressOf(l.admin) }

func addressOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}
