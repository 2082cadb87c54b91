package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// Announce implements spread.Store. The lease is granted once and renewed by each call; the value is put only when it has changed, so that a
// group at rest writes nothing.
func (s *Store) Announce(ctx context.Context, m spread.Member) error {
	client, err := s.opt.Client()
	if err != nil {
		return err
	}
	value, err := encodeMember(m)
	if err != nil {
		return err
	}
	s.announcing.Lock()
	defer s.announcing.Unlock()
	if s.name != "" && s.name != m.Name {
		return fmt.Errorf("the member %q is announced, and cannot be announced as %q before it is withdrawn", s.name, m.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	s.name = m.Name
	err = s.renew(ctx, client)
	if err == nil {
		err = s.put(ctx, client, value)
	}
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // it has ended in between
		s.lease, s.value = 0, ""
		if err = s.renew(ctx, client); err == nil {
			err = s.put(ctx, client, value)
		}
	}
	return err
}

// renew renews the lease. One that is lost, or not there yet, is granted.
func (s *Store) renew(ctx context.Context, client *clientv3.Client) error {
	if s.lease != 0 {
		_, err := client.KeepAliveOnce(ctx, s.lease)
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
	}
	s.lease, s.value = 0, ""
	got, err := client.Grant(ctx, int64(s.opt.TTL/time.Second))
	if err == nil {
		s.lease = got.ID
	}
	return err
}

// put puts the value if the key does not have it. A key under the lease of another process is left as it is.
func (s *Store) put(ctx context.Context, client *clientv3.Client, value string) error {
	key := s.memberKey(s.name)
	if value == s.value {
		got, err := client.Get(ctx, key, clientv3.WithKeysOnly())
		if err != nil || len(got.Kvs) > 0 && got.Kvs[0].Lease == int64(s.lease) {
			return err
		}
	}
	s.value = "" // until it is answered
	underLease := func(lease clientv3.LeaseID) clientv3.Cmp {
		return clientv3.Compare(clientv3.LeaseValue(key), "=", lease)
	}
	put := []clientv3.Op{clientv3.OpPut(key, value, clientv3.WithLease(s.lease))}
	// A key without a lease is absent, or of no process.
	unlessOwned := clientv3.OpTxn([]clientv3.Cmp{underLease(clientv3.NoLease)}, put, []clientv3.Op{clientv3.OpGet(key)})
	got, err := client.Txn(ctx).If(underLease(s.lease)).Then(put...).Else(unlessOwned).Commit()
	if err != nil {
		return err
	}
	if !got.Succeeded {
		if other := got.Responses[0].GetResponseTxn(); !other.Succeeded {
			return s.nameTaken(other.Responses[0].GetResponseRange().Kvs[0].Value)
		}
	}
	s.value = value
	return nil
}

// nameTaken is the error for a name that another process has announced, with its addresses: it is found by them.
func (s *Store) nameTaken(value []byte) error {
	var v memberValue
	if err := decode(value, &v); err != nil {
		return fmt.Errorf("%w: the key %s", spread.ErrNameTaken, s.memberKey(s.name))
	}
	return fmt.Errorf("%w: %q is known with the addresses %q and %q, for up to %v after it has ended", spread.ErrNameTaken, s.name, v.GRPC, v.HTTP, s.opt.TTL)
}

// Withdraw implements spread.Store. After an error the member is unknown at the end of its lease.
func (s *Store) Withdraw(ctx context.Context) error {
	s.announcing.Lock()
	defer s.announcing.Unlock()
	if s.lease == 0 {
		s.name = ""
		return nil
	}
	client, err := s.opt.Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if _, err := client.Revoke(ctx, s.lease); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	s.lease, s.name, s.value = 0, "", ""
	return nil
}
