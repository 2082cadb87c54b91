package canopy

import (
	"context"
	"io"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
)

// groupStores opens, for a term, what the members of a group share (HAS-1): of an earlier term nothing is written any
// more. nil: the members share nothing.
type groupStores interface {
	configs(ctx context.Context, epoch int64) (configStore, error)
	operators(ctx context.Context, epoch int64) (operatorStore, error)
}

// operatorStore keeps what operators have switched, for the members of a group.
type operatorStore interface {
	operators.Store
	io.Closer
}

// etcdStores are the stores in etcd.
type etcdStores struct {
	kv        func() (etcdstore.KV, error)
	prefix    string
	leaderKey string
}

func (s *etcdStores) options(epoch int64) etcdstore.Options {
	return etcdstore.Options{Prefix: s.prefix, LeaderKey: s.leaderKey, Epoch: epoch}
}

func (s *etcdStores) configs(ctx context.Context, epoch int64) (configStore, error) {
	kv, err := s.kv()
	if err != nil {
		return nil, err
	}
	store, err := etcdstore.Open(ctx, kv, s.options(epoch))
	if err != nil {
		return nil, err // without a type: a nil *Store is no nil configStore
	}
	return store, nil
}

func (s *etcdStores) operators(ctx context.Context, epoch int64) (operatorStore, error) {
	kv, err := s.kv()
	if err != nil {
		return nil, err
	}
	store, err := etcdstore.OpenOperators(ctx, kv, s.options(epoch))
	if err != nil {
		return nil, err
	}
	return store, nil
}
