package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

// A connection that does not answer for this long is given up. gRPC does not accept less than 10 s between two probes.
const (
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
)

var errWatchEnded = errors.New("the watch has ended")

// Store is etcd. It is safe for concurrent use.
type Store struct {
	config Config

	mu     sync.Mutex
	client *clientv3.Client // nil: not made yet
	closed bool
}

// New returns a Store. It connects when it is used; the config is valid by Check.
func New(c Config) *Store { return &Store{config: c} }

// Client is the connection to etcd. With a User it is an error until etcd has answered.
func (s *Store) Client() (*clientv3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("the connection to etcd is closed")
	case s.client != nil:
		return s.client, nil
	}
	secure, _, err := s.config.tls()
	if err != nil {
		return nil, err
	}
	password, err := s.config.password()
	if err != nil {
		return nil, err
	}
	s.client, err = clientv3.New(clientv3.Config{
		Endpoints: s.config.Endpoints, TLS: secure, Username: s.config.User, Password: password,
		DialTimeout:       s.config.Timeout,
		DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout, PermitWithoutStream: true,
		DialOptions: []grpc.DialOption{Reconnect},
		Logger:      zap.NewNop(), // what matters is in the answers
	})
	if err != nil {
		s.client = nil
	}
	return s.client, err
}

// Reconnect has a client try etcd again at least once a second while it is down. By default gRPC waits for up to two
// minutes, and after seconds without etcd the first calls run into their timeout although it is back.
var Reconnect = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
		MaxDelay: time.Second},
	MinConnectTimeout: 5 * time.Second,
})

// Close closes the connection. Further calls fail.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// Do implements election.Store.
func (s *Store) Do(ctx context.Context, r election.Request) election.Answer {
	client, err := s.Client()
	if err != nil {
		return election.Answer{Err: err}
	}
	var a election.Answer
	switch r.Op {
	case election.Read:
		a, err = s.read(ctx, client)
	case election.Watch:
		err = s.watch(ctx, client, r.Revision)
	case election.Grant:
		a, err = grant(ctx, client, r.TTL)
	case election.Create:
		a, err = s.create(ctx, client, r)
	case election.Renew:
		a, err = renew(ctx, client, r.Lease)
	case election.Revoke:
		_, err = client.Revoke(ctx, clientv3.LeaseID(r.Lease))
	}
	a.Err = err
	return a
}

func (s *Store) read(ctx context.Context, client *clientv3.Client) (a election.Answer, err error) {
	got, err := client.Get(ctx, s.config.LeaderKey())
	if err != nil {
		return a, err
	}
	a.Revision = got.Header.Revision
	if len(got.Kvs) > 0 {
		a.Found, a.Epoch = true, got.Kvs[0].CreateRevision
		_ = json.Unmarshal(got.Kvs[0].Value, &a.Leader) // a key of another program has no address
	}
	return a, nil
}

// watch waits for a change of the leader's key.
func (s *Store) watch(ctx context.Context, client *clientv3.Client, after int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a part of etcd without a quorum sees no change
	defer cancel()
	for got := range client.Watch(ctx, s.config.LeaderKey(), clientv3.WithRev(after+1)) {
		if err := got.Err(); err != nil {
			return err
		}
		if len(got.Events) > 0 {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errWatchEnded
}

func grant(ctx context.Context, client *clientv3.Client, ttl time.Duration) (a election.Answer, err error) {
	got, err := client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return a, err
	}
	return election.Answer{Lease: election.LeaseID(got.ID), TTL: time.Duration(got.TTL) * time.Second}, nil
}

// create creates the leader's key if there is none, in one transaction.
func (s *Store) create(ctx context.Context, client *clientv3.Client, r election.Request) (a election.Answer,
	err error) {
	value, err := json.Marshal(r.Leader)
	if err != nil {
		return a, err
	}
	got, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(s.config.LeaderKey()), "=", 0)).
		Then(clientv3.OpPut(s.config.LeaderKey(), string(value), clientv3.WithLease(clientv3.LeaseID(r.Lease)))).
		Commit()
	if err != nil {
		return a, err
	}
	if !got.Succeeded {
		return election.Answer{Found: true}, nil
	}
	return election.Answer{Epoch: got.Header.Revision}, nil // the revision of the transaction that created it
}

func renew(ctx context.Context, client *clientv3.Client, lease election.LeaseID) (a election.Answer, err error) {
	got, err := client.KeepAliveOnce(ctx, clientv3.LeaseID(lease))
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return a, election.ErrLeaseLost
	case err != nil:
		return a, err
	}
	return election.Answer{TTL: time.Duration(got.TTL) * time.Second}, nil
}
