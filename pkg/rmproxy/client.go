package rmproxy

import (
	"context"

	"go.uber.org/zap"
	"google.golang.org/grpc/peer"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
)

// client has what is known of the sender of a registration, for audit lines (SEC-12).
type client struct{ identity, address string }

// inProcessClient is the program that the scheduler is linked into.
var inProcessClient = client{"program", "in process"}

// clientOf is the client of a call of gRPC.
func clientOf(ctx context.Context) client {
	c := client{identity: auth.NameFromContext(ctx)}
	if p, ok := peer.FromContext(ctx); ok {
		c.address = p.Addr.String()
	}
	return c
}

// audit logs a registration, or its refusal.
func (c client) audit(log *zap.Logger, rm, result string, err error) {
	auth.Audit(log,
		auth.Change{Identity: c.identity, Peer: c.address, Action: "register", Object: rm, Result: result, Err: err})
}

// checkRM is an error if the client of a call may not use an rmID (SEC-7). It is called before the message is decoded.
func (p *Proxy) checkRM(ctx context.Context, rm string) error {
	err := auth.CheckRM(ctx, rm)
	if err != nil && p.opt.AccessCounts != nil {
		p.opt.AccessCounts.Note(auth.WrongRM)
	}
	return err
}
