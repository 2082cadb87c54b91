package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// Options say where in etcd a group is.
type Options struct {
	Client  func() (*clientv3.Client, error) // called for each call, as the connection may not be made yet
	Prefix  string                           // of all keys, such as /canopy: it begins with a slash and ends without one
	TTL     time.Duration                    // after how long without Announce a member is not known any more; whole seconds
	Timeout time.Duration                    // bounds each request, as Next waits for long; 0: DefaultTimeout
}

// DefaultTimeout bounds a request if Options.Timeout is 0. It is longer than a member of etcd takes to be replaced as the leader of etcd.
const DefaultTimeout = 6 * time.Second

var errWatchEnded = errors.New("the watch has ended")

// Store is the spread.Store of one process in etcd. It is safe for concurrent use.
type Store struct {
	opt Options

	announcing sync.Mutex // held during Announce and Withdraw
	lease      clientv3.LeaseID
	name       string // that is announced; empty: none
	value      string // as put last under lease; empty: none, or it is not known
}

// New returns a Store. It asks etcd when it is used.
func New(o Options) *Store {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	return &Store{opt: o}
}

// Next implements spread.Store.
func (s *Store) Next(ctx context.Context, after int64) (spread.State, error) {
	client, err := s.opt.Client()
	if err != nil {
		return spread.State{}, err
	}
	if after != 0 {
		if err := s.wait(ctx, client, after); err != nil {
			return spread.State{}, err
		}
	}
	return s.read(ctx, client)
}

// read reads everything at one revision.
func (s *Store) read(ctx context.Context, client *clientv3.Client) (spread.State, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	got, err := client.Txn(ctx).Then(
		clientv3.OpGet(s.membersPrefix(), clientv3.WithPrefix()), clientv3.OpGet(s.assignmentKey()), clientv3.OpGet(s.indexKey()),
		clientv3.OpGet(s.proposalKey(), clientv3.WithKeysOnly()),
	).Commit()
	if err != nil {
		return spread.State{}, err
	}
	kvs := func(i int) []*mvccpb.KeyValue { return got.Responses[i].GetResponseRange().Kvs }
	return s.state(got.Header.Revision, kvs(0), kvs(1), kvs(2), kvs(3))
}

// wait waits until something has changed after a revision, or until that cannot be known: because etcd has been compacted, or has been restored
// from a backup and counts from an earlier revision.
func (s *Store) wait(ctx context.Context, client *clientv3.Client, after int64) error {
	watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a part of etcd without a quorum sees no change
	defer cancel()
	for got := range client.Watch(watching, s.opt.Prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(after+1), clientv3.WithCreatedNotify()) {
		err := got.Err()
		switch {
		case errors.Is(err, rpctypes.ErrCompacted):
			return nil
		case err != nil:
			return err
		case got.Created && got.Header.Revision < after:
			if behind, err := s.isBehind(ctx, client, after); behind || err != nil {
				return err
			}
		}
		for _, e := range got.Events {
			if s.shared(string(e.Kv.Key)) {
				return nil
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errWatchEnded
}

// isBehind reports whether etcd as a whole is at an earlier revision. A member of etcd may be for a moment.
func (s *Store) isBehind(ctx context.Context, client *clientv3.Client, after int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	got, err := client.Get(ctx, s.assignmentKey(), clientv3.WithKeysOnly())
	return err == nil && got.Header.Revision < after, err
}

// shared reports whether a key is one of those that State is made of.
func (s *Store) shared(key string) bool {
	return strings.HasPrefix(key, s.membersPrefix()) || key == s.assignmentKey() || key == s.indexKey() || key == s.proposalKey()
}

// Assign implements spread.Store. The transaction compares the mod revision too: one that etcd gets late, after its call has failed, changes
// nothing that was assigned since.
func (s *Store) Assign(ctx context.Context, epoch int64, a spread.Assignment) error {
	client, err := s.opt.Client()
	if err != nil {
		return err
	}
	value, err := encodeAssignment(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	got, err := client.Txn(ctx).Then(clientv3.OpGet(s.leaderKey()), clientv3.OpGet(s.assignmentKey())).Commit()
	if err != nil {
		return err
	}
	if err := s.checkCoordinator(got.Responses[0], epoch); err != nil {
		return err
	}
	kvs := got.Responses[1].GetResponseRange().Kvs
	stored, err := decodeAssignment(kvs)
	switch {
	case err != nil:
		return err
	case a.Round == stored.Round && maps.Equal(a.Members, stored.Members):
		return nil // by a call that was not answered
	case a.Round != stored.Round+1:
		return fmt.Errorf("%w: round %d does not follow round %d of %s", spread.ErrStale, a.Round, stored.Round, s.assignmentKey())
	}
	revision := int64(0)
	if len(kvs) > 0 {
		revision = kvs[0].ModRevision
	}
	put, err := client.Txn(ctx).If(
		clientv3.Compare(clientv3.CreateRevision(s.leaderKey()), "=", epoch),
		clientv3.Compare(clientv3.ModRevision(s.assignmentKey()), "=", revision),
	).Then(clientv3.OpPut(s.assignmentKey(), value)).Else(clientv3.OpGet(s.leaderKey())).Commit()
	if err != nil || put.Succeeded {
		return err
	}
	if err := s.checkCoordinator(put.Responses[0], epoch); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s has changed after round %d", spread.ErrStale, s.assignmentKey(), stored.Round)
}

// checkCoordinator returns an error unless the leader's key, as it was read, has an epoch.
func (s *Store) checkCoordinator(leader *etcdserverpb.ResponseOp, epoch int64) error {
	kvs := leader.GetResponseRange().Kvs
	if len(kvs) == 0 {
		return fmt.Errorf("%w, or none: the key %s of epoch %d is gone", spread.ErrNotCoordinator, s.leaderKey(), epoch)
	}
	if kvs[0].CreateRevision != epoch {
		return fmt.Errorf("%w: the key %s is of epoch %d, and what was to be written of epoch %d", spread.ErrNotCoordinator, s.leaderKey(), kvs[0].CreateRevision, epoch)
	}
	return nil
}
