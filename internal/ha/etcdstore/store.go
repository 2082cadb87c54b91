package etcdstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Store keeps the history of configurations of a leader (HAS-1). It implements reload.Store, and is safe for concurrent
// use.
type Store struct {
	*chain
	stored reload.StoredState
	name   string        // see index.Store
	writes atomic.Uint64 // so far
}

// Open reads the history below opt.Prefix, which may be empty. It is as no earlier leader can change it any more. ctx
// and opt.Timeout bound Open. Errors: ErrNotLeader, of opt, of etcd, or of a value that is damaged or is missing, with
// its key (HAS-5).
func Open(ctx context.Context, kv KV, opt Options) (*Store, error) {
	c, kvs, err := openChain(ctx, kv, opt, indexKey, clientv3.OpGet(opt.key(configPrefix), clientv3.WithPrefix()))
	if err != nil {
		return nil, fmt.Errorf("the history of configurations %s cannot be read: %w", opt.name(), err)
	}
	s := &Store{chain: c, name: rand.Text()}
	if s.stored, err = load(opt, kvs); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("the history of configurations %s cannot be used: it is damaged: %w", opt.name(), err)
	}
	return s, nil
}

// name names the history.
func (o *Options) name() string { return "in etcd below " + o.key(configPrefix) }

// StoredState returns what etcd had when the Store was opened.
func (s *Store) StoredState() reload.StoredState { return s.stored }

// Latest is the configuration that was in force last under an earlier leader; nil: there is none. A configuration that
// this version of the program finds invalid is an error.
func (s *Store) Latest(bounds queuesyaml.Options) (*reload.Proposal, error) {
	return s.stored.Latest(s.chain.opt.name(), bounds)
}

// Add stores g and deletes the generations before the number oldest, which is at most that of g. An error names the
// generation. It wraps ErrNotLeader, ErrNoAnswer or ErrClosed, or is an answer of etcd: that g is too large, or that
// etcd has no space (HAS-4).
func (s *Store) Add(g *reload.Generation, oldest uint64) error {
	text, err := reload.EncodeGeneration(g)
	if err != nil {
		return err
	}
	key := generationKey(g.Number)
	value := string(encode(key, text))
	err = s.write(func(i *index) []clientv3.Op {
		i.add(g.Number, oldest)
		o := &s.chain.opt
		return []clientv3.Op{
			clientv3.OpDelete(o.key(generationKey(0)), clientv3.WithRange(o.key(generationKey(oldest)))),
			clientv3.OpPut(o.key(key), value),
		}
	})
	if err != nil {
		return fmt.Errorf("generation %d of the history %s: %w", g.Number, s.chain.opt.name(), err)
	}
	return nil
}

// SaveChecksum stores the checksum of the last text of a source. Errors are those of Add.
func (s *Store) SaveChecksum(source, checksum string) error {
	key := checksumsPrefix + source
	value := string(encode(key, []byte(checksum)))
	err := s.write(func(*index) []clientv3.Op {
		return []clientv3.Op{clientv3.OpPut(s.chain.opt.key(key), value)}
	})
	if err != nil {
		return fmt.Errorf("the last checksum of %q in the history %s: %w", source, s.chain.opt.name(), err)
	}
	return nil
}

// write makes a change together with one of the index. do may be called several times.
func (s *Store) write(do func(*index) []clientv3.Op) error {
	number := s.writes.Add(1)
	return s.chain.write(func(current []byte) (change, error) {
		i := index{}
		if current != nil {
			var err error
			if i, err = decodeIndex(current); err != nil {
				return change{}, err
			}
		}
		others := do(&i)
		i.Epoch, i.Store, i.Write = s.chain.opt.Epoch, s.name, number
		value, err := i.encode()
		return change{value, others}, err
	})
}
