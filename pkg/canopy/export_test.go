package canopy

import (
	"context"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// CloseHTTPListener closes the listener of HTTP behind the back of its server.
func CloseHTTPListener(s *Server) error { return s.listeners.http.Close() }

// StartMemberAt starts a member with a store and a clock.
func StartMemberAt(ctx context.Context, opt Options, ha HA, store election.Store, now func() election.Instant) (*Member,
	error) {
	return startMember(ctx, opt, ha, store, nil, func() error { return nil }, now)
}
