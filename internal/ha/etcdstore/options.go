package etcdstore

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// KV is the part of a *clientv3.Client that is used here: reads are transactions too, so that what they read is of one
// revision.
type KV interface {
	Txn(ctx context.Context) clientv3.Txn
}

// Options say where in etcd something is kept, and for which leader.
type Options struct {
	Prefix    string        // of all keys, such as "/canopy/main"; not empty, and without a slash at the end
	LeaderKey string        // the key of the leader; not one of those below Prefix that are used here
	Epoch     int64         // the create revision of LeaderKey in this term
	Timeout   time.Duration // bounds each call, once those before it have ended; 0: DefaultTimeout
}

// DefaultTimeout bounds a call if Options.Timeout is 0. It is longer than a member of etcd takes to be replaced as the
// leader of etcd.
const DefaultTimeout = 6 * time.Second

// The keys, below Options.Prefix. They are part of what the checksum of a value is over, without the prefix: a copy of
// all keys with another prefix is valid.
const (
	configPrefix      = "config/"
	indexKey          = configPrefix + "index"
	generationsPrefix = configPrefix + "generations/"
	checksumsPrefix   = configPrefix + "last-checksums/"
)

// generationKey is the key of a generation. Keys sort like numbers.
func generationKey(number uint64) string { return fmt.Sprintf("%s%020d", generationsPrefix, number) }

// key is a key in etcd.
func (o *Options) key(relative string) string { return o.Prefix + "/" + relative }
