package etcdstore

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Leaders returns the leader's keys of all groups with the key alone or a key below others, at one revision at which
// the term of opt goes on. It has the errors of Open (HA-12).
func Leaders(ctx context.Context, kv KV, opt Options, alone, others string) ([]*mvccpb.KeyValue, error) {
	c, kvs, err := openChain(ctx, kv, opt, indexKey, clientv3.OpGet(alone), clientv3.OpGet(others, clientv3.WithPrefix()))
	if err != nil {
		return nil, fmt.Errorf("the leaders of the groups in etcd at %s and below %s: %w", alone, others, err)
	}
	return kvs, c.Close()
}
