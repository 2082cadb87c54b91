package auth

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// withdrawnError ends the calls of a client whose credentials have been withdrawn.
type withdrawnError struct{}

var errWithdrawn error = withdrawnError{}

func (withdrawnError) Error() string {
	return ErrUnauthenticated.Error() + ": the credentials have been withdrawn"
}

// Unwrap returns ErrUnauthenticated.
func (withdrawnError) Unwrap() error { return ErrUnauthenticated }

// GRPCStatus returns the status of a call that ends.
func (e withdrawnError) GRPCStatus() *status.Status {
	return status.New(codes.Unauthenticated, e.Error())
}

// Status gives an error of this package its gRPC status code; others stay.
func Status(err error) error {
	switch {
	case errors.Is(err, ErrForbidden):
		return status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, ErrUnauthenticated):
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return err
}

// neededFor returns the role for a method of the gRPC server; open: it needs none (SEC-10).
func neededFor(method string, submitServices []string) (needed Role, open bool) {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch {
	case service == "grpc.health.v1.Health": // a probe has no token, and the answer is no state of the scheduler
		return "", true
	case slices.Contains(submitServices, service):
		return Submit, false
	}
	return Read, false
}

// admit authorizes a call, and returns its context as Serve does.
func (a *Authenticator) admit(ctx context.Context, method string, submitServices []string, log *zap.Logger) (
	context.Context, func(), error) {
	needed, open := neededFor(method, submitServices)
	if a == nil || open {
		return ctx, func() {}, nil
	}
	var client Client
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		client.Authorization = md.Get("authorization")
	}
	at := ""
	if p, ok := peer.FromContext(ctx); ok {
		at = p.Addr.String()
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			client.TLS = &info.State
		}
	}
	i, err := a.Authorize(client, needed)
	if err == nil {
		ctx, done, withdrawn := a.Serve(ctx, client, i)
		if withdrawn == nil {
			return ctx, done, nil
		}
		err = withdrawn
	}
	LogRefusal(log, at, method, err)
	return nil, nil, Status(err)
}

// UnaryInterceptor checks calls. submitServices are the services that need the role Submit.
func (a *Authenticator) UnaryInterceptor(submitServices []string, log *zap.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, done, err := a.admit(ctx, info.FullMethod, submitServices, log)
		if err != nil {
			return nil, err
		}
		defer done()
		return next(ctx, request)
	}
}

// StreamInterceptor checks streams, as UnaryInterceptor does calls.
func (a *Authenticator) StreamInterceptor(submitServices []string, log *zap.Logger) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, done, err := a.admit(stream.Context(), info.FullMethod, submitServices, log)
		if err != nil {
			return err
		}
		defer done()
		if ctx == stream.Context() {
			return next(server, stream)
		}
		return next(server, identifiedStream{stream, ctx})
	}
}

// identifiedStream is a stream whose context has the identity of the client.
type identifiedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context with the identity.
func (s identifiedStream) Context() context.Context { return s.ctx }
