package canopy

import (
	"context"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/ha/election/etcd"
	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/kept"
)

// etcdStores opens, for a term, what the members of a group share in etcd (HAS-1): nothing is written for an earlier
// term any more. nil: the members share nothing.
type etcdStores struct {
	kv     func() (etcdstore.KV, error)
	config etcd.Config
}

func (s *etcdStores) options(epoch int64) etcdstore.Options {
	return etcdstore.Options{Prefix: s.config.GroupPrefix(), LeaderKey: s.config.LeaderKey(), Epoch: epoch}
}

func (s *etcdStores) configs(ctx context.Context, epoch int64) (configStore, error) {
	kv, err := s.kv()
	if err != nil {
		return nil, err
	}
	return noTypedNil[configStore](etcdstore.Open(ctx, kv, s.options(epoch)))
}

func (s *etcdStores) text(ctx context.Context, epoch int64, key string) (kept.Text, error) {
	kv, err := s.kv()
	if err != nil {
		return kept.Text{}, err
	}
	return etcdstore.OpenText(ctx, kv, s.options(epoch), key)
}

// noTypedNil returns a store as an interface that is nil after an error: a nil *Store would be none.
func noTypedNil[I any](store any, err error) (out I, _ error) {
	if err == nil {
		out = store.(I)
	}
	return out, err
}

// leaders returns the leaders of all groups, this one included (HA-12).
func (s *etcdStores) leaders(ctx context.Context, epoch int64) (out []groupLeader, err error) {
	kv, err := s.kv()
	if err != nil {
		return nil, err
	}
	alone, others := s.config.LeaderKeys()
	kvs, err := etcdstore.Leaders(ctx, kv, s.options(epoch), alone, others)
	for _, x := range kvs {
		name, _ := strings.CutPrefix(string(x.Key), others)
		if string(x.Key) == alone {
			name = ""
		}
		out = append(out, parseLeader(name, x.CreateRevision, x.Value))
	}
	return out, err
}
