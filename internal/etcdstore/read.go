package etcdstore

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/canopy-scheduler/canopy/internal/reload"
)

// Read reads the history of configurations below a prefix, for a process that follows what a leader decides on. It is of one revision of etcd, and
// may be an older one a moment later. ctx bounds it. Errors: those of etcd, or of a value that is damaged or is missing, with its key (HAS-5).
func Read(ctx context.Context, kv KV, prefix string) (reload.StoredState, error) {
	opt := Options{Prefix: prefix}
	got, err := kv.Txn(ctx).Then(clientv3.OpGet(opt.key(configPrefix), clientv3.WithPrefix())).Commit()
	if err != nil {
		return reload.StoredState{}, fmt.Errorf("the history of configurations %s cannot be read: %w", opt.name(), err)
	}
	state, err := load(opt, got.Responses[0].GetResponseRange().GetKvs())
	if err != nil {
		return reload.StoredState{}, fmt.Errorf("the history of configurations %s cannot be used: it is damaged: %w", opt.name(), err)
	}
	return state, nil
}
