package webservice

import (
	"context"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queues shows the whole queue tree.
func (s *service) queues(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	tree, err := s.queueTree(r.Context(), l)
	if err != nil {
		return nil, err
	}
	return tree.pieces(), nil
}

// queueTree is the encoded queue tree of a partition, not older than the call.
func (s *service) queueTree(ctx context.Context, l *loop.Loop) (*queueTree, error) {
	return s.queueTrees.get(ctx, &s.snapshots, l,
		func(ctx context.Context, snap *scheduler.Snapshot, last *queueTree) (*queueTree, bool, error) {
			next := encodeTree(ctx, snap, last)
			return next, s.cacheBudget.replace(next.bytes(), last.bytes()), nil
		})
}
