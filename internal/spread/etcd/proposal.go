package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/canopy-scheduler/canopy/internal/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/spread"
)

// proposal is the key of the proposal below the prefix. Its number is the revision of etcd at which it was put.
const proposal = "proposal"

// Propose implements spread.Store. A transaction that etcd gets late is of an epoch that is over, or asks for a check whose answers are not waited for.
func (s *Store) Propose(ctx context.Context, epoch int64, text []byte) (int64, error) {
	client, err := s.opt.Client()
	if err == nil && epoch == 0 { // as a key that is missing has
		err = fmt.Errorf("%w: epoch 0", spread.ErrNotCoordinator)
	}
	if err != nil {
		return 0, err
	}
	op, size := clientv3.OpDelete(s.proposalKey()), 0
	if len(text) > 0 {
		value := string(etcdstore.Encode(proposal, text))
		op, size = clientv3.OpPut(s.proposalKey(), value), len(value)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	got, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(s.leaderKey()), "=", epoch)).
		Then(op).Else(clientv3.OpGet(s.leaderKey())).Commit()
	if err != nil {
		return 0, etcdstore.Explain(err, size)
	}
	if !got.Succeeded {
		return 0, s.checkCoordinator(got.Responses[0], epoch)
	}
	return got.Header.Revision, nil
}

// Proposed implements spread.Store.
func (s *Store) Proposed(ctx context.Context, number int64) ([]byte, error) {
	client, err := s.opt.Client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	got, err := client.Txn(ctx).Then(clientv3.OpGet(s.proposalKey())).Commit()
	if err != nil {
		return nil, err
	}
	kvs := got.Responses[0].GetResponseRange().Kvs
	if len(kvs) == 0 || kvs[0].ModRevision != number {
		return nil, fmt.Errorf("%w: %d", spread.ErrNoProposal, number)
	}
	text, err := etcdstore.Decode(proposal, kvs[0].Value)
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", s.proposalKey(), err)
	}
	return text, nil
}
