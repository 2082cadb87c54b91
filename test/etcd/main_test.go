// Package etcd tests what Canopy keeps in etcd with a real one.
package etcd_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election/etcd"
	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/test/etcd/etcdprocess"
)

// program is etcd.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "canopy-etcd")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		program, err = etcdprocess.Build(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// startEtcd starts an etcd with one member, and a client of it.
func startEtcd(t *testing.T, args ...string) (*etcdprocess.Cluster, *clientv3.Client) {
	t.Helper()
	return start(t, etcdprocess.Config{Args: args})
}

func start(t *testing.T, c etcdprocess.Config) (*etcdprocess.Cluster, *clientv3.Client) {
	t.Helper()
	c.Program, c.Dir = program, t.TempDir()
	cluster, err := etcdprocess.Start(t.Context(), c)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, cluster.Kill()) })
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), DialTimeout: time.Minute,
		DialOptions: []grpc.DialOption{etcd.Reconnect}, Logger: zap.NewNop()})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, client.Close()) })
	return cluster, client
}

const leaderKey = "/canopy/a/leader"

// elect makes another leader, whose key is bound to a lease.
func elect(t *testing.T, client *clientv3.Client) (etcdstore.Options, clientv3.LeaseID) {
	t.Helper()
	lease, err := client.Grant(t.Context(), 600)
	assert.NilError(t, err)
	_, err = client.Delete(t.Context(), leaderKey)
	assert.NilError(t, err)
	put, err := client.Put(t.Context(), leaderKey, "member", clientv3.WithLease(lease.ID))
	assert.NilError(t, err)
	return etcdstore.Options{Prefix: "/canopy/a", LeaderKey: leaderKey, Epoch: put.Header.Revision,
		Timeout: 3 * time.Second}, lease.ID
}

func open(t *testing.T, client *clientv3.Client, opt etcdstore.Options) *etcdstore.Store {
	t.Helper()
	s, err := etcdstore.Open(t.Context(), client, opt)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}
