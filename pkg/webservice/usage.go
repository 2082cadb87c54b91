package webservice

import (
	"context"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The usage of users and groups over REST.

// usage returns the usage of all users or groups in the partition in the path.
func (s *service) usage(r *http.Request, groups bool) (*usages, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	on := &s.userUsages
	if groups {
		on = &s.groupUsages
	}
	return on.get(r.Context(), &s.snapshots, l,
		func(ctx context.Context, snap *scheduler.Snapshot, last *usages) (*usages, bool, error) {
			slot := cpushare.Readers.Acquire(ctx)
			defer slot.Release()
			return sumUsages(snap, groups, last, slot), true, nil
		})
}

func (s *service) users(r *http.Request) (any, error) { return s.allUsages(r, false) }

func (s *service) groups(r *http.Request) (any, error) { return s.allUsages(r, true) }

func (s *service) allUsages(r *http.Request, groups bool) (any, error) {
	u, err := s.usage(r, groups)
	if err != nil {
		return nil, err
	}
	return u.pieces(nil), nil
}

func (s *service) user(r *http.Request) (any, error) { return s.oneUsage(r, false, "user", "User") }

func (s *service) group(r *http.Request) (any, error) { return s.oneUsage(r, true, "group", "Group") }

// oneUsage shows the user or the group in a parameter of the path; what is the name of the kind in an error.
func (s *service) oneUsage(r *http.Request, groups bool, in, what string) (any, error) {
	name, err := parameter(r, in)
	if err != nil {
		return nil, err
	}
	u, err := s.usage(r, groups)
	if err != nil {
		return nil, err
	}
	n := u.find(name)
	if n == nil {
		return nil, notFound(what)
	}
	return u.pieces(n), nil
}
