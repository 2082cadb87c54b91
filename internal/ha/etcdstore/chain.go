package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// chain writes to etcd in the order of its calls. Each write puts a new value of one key, the head, and is applied only
// if the head is as the write before has left it. It is safe for concurrent use.
//
// A write that was not answered may be on its way still. It is sent again, the same: if one of the two is applied the
// other is not, because the head has changed. If etcd does not answer at all, the next write finds out by the head what
// has taken effect.
type chain struct {
	kv     KV
	opt    Options
	key    string          // of the head, with the prefix
	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu       sync.Mutex // held during a write
	value    []byte     // of the head, as far as is known; nil: it is absent
	revision int64      // the mod revision of the head with that value; 0: it is absent
}

// change describes a write.
type change struct {
	head   []byte        // the new value of the head, different for each write that does something else
	others []clientv3.Op // besides putting the head
}

// size is about the length of the request, in bytes.
func (c *change) size() int {
	n := len(c.head)
	for _, op := range c.others {
		n += len(op.KeyBytes()) + len(op.ValueBytes())
	}
	return n
}

// openChain reads the head with the relative key, and in the same transaction what reads return, in their order.
func openChain(ctx context.Context, kv KV, opt Options, key string, reads ...clientv3.Op) (*chain, []*mvccpb.KeyValue,
	error) {
	opt.Timeout = cmp.Or(opt.Timeout, DefaultTimeout)
	c := &chain{kv: kv, opt: opt, key: opt.key(key)}
	bounded, cancel := context.WithTimeout(ctx, opt.Timeout)
	defer cancel()
	var failure error
	for {
		a, err := c.read(bounded, reads...)
		failure = tellingError(failure, err)
		switch {
		case err == nil && !a.leads(opt.Epoch):
			return nil, nil, opt.notLeader(a.leader)
		case err == nil:
			c.setHead(a.head)
			c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
			return c, a.others, nil
		case isFinal(err):
			return nil, nil, err
		case !pause(bounded):
			return nil, nil, fmt.Errorf("etcd did not answer within %v: %w", opt.Timeout, failure)
		}
	}
}

// Close ends writes that wait for etcd. It leaves the client open.
func (c *chain) Close() error {
	c.cancel()
	return nil
}

// write makes a change that build derives from the current value of the head; nil: it is absent. build is called again
// if an earlier write, which was not answered, turns out to have taken effect.
func (c *chain) write(build func(current []byte) (change, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.Timeout)
	defer cancel()
	next, err := build(c.value)
	if err != nil {
		return err
	}
	var unanswered error // of a request of this write that may take effect later
	for {
		a, failure := c.commit(ctx, next)
		err := failure
		if failure != nil && isFinal(failure) {
			a, err = c.read(ctx) // etcd makes the request with which it uses up its space, and answers with an error
		}
		switch {
		case err != nil: // nothing is known: the next attempt reads back what has taken effect
		case a.committed:
			c.value, c.revision = next.head, a.revision
			return nil
		case a.headRevision() != c.revision && a.head != nil && bytes.Equal(a.head.Value, next.head):
			c.setHead(a.head) // it has taken effect
			return nil
		case !a.leads(c.opt.Epoch):
			return c.opt.notLeader(a.leader)
		case a.headRevision() != c.revision:
			c.setHead(a.head) // an earlier write has taken effect: this one has not, and will not with the former head
			if next, err = build(c.value); err != nil {
				return err
			}
			unanswered = nil
			continue
		case failure == nil:
			return fmt.Errorf("etcd has refused a change, although the keys %s and %s are as they must be", c.opt.LeaderKey,
				c.key)
		case unanswered == nil:
			return explain(failure, next.size())
		default:
			return c.ended(errors.Join(unanswered, explain(failure, next.size())))
		}
		unanswered = tellingError(unanswered, failure)
		if !pause(ctx) {
			return c.ended(unanswered)
		}
	}
}

// ended is the error of a write that etcd has not answered.
func (c *chain) ended(failure error) error {
	if c.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrClosed, failure)
	}
	return fmt.Errorf("%w (%v): %w", ErrNoAnswer, c.opt.Timeout, failure)
}

func (c *chain) setHead(kv *mvccpb.KeyValue) {
	c.value, c.revision = nil, 0
	if kv != nil {
		c.value, c.revision = append([]byte{}, kv.Value...), kv.ModRevision
	}
}

// answer is etcd's answer to a transaction.
type answer struct {
	committed bool             // the change was made; then only revision is set
	revision  int64            // of etcd after the transaction
	leader    *mvccpb.KeyValue // nil: there is none
	head      *mvccpb.KeyValue // nil: it is absent
	others    []*mvccpb.KeyValue
}

// leads reports whether the leader has an epoch.
func (a *answer) leads(epoch int64) bool { return a.leader != nil && a.leader.CreateRevision == epoch }

func (a *answer) headRevision() int64 {
	if a.head == nil {
		return 0
	}
	return a.head.ModRevision
}

// commit sends a change once.
func (c *chain) commit(ctx context.Context, next change) (answer, error) {
	return c.send(ctx, func(txn clientv3.Txn) clientv3.Txn {
		return txn.If(
			clientv3.Compare(clientv3.CreateRevision(c.opt.LeaderKey), "=", c.opt.Epoch),
			clientv3.Compare(clientv3.ModRevision(c.key), "=", c.revision),
		).Then(append([]clientv3.Op{clientv3.OpPut(c.key, string(next.head))}, next.others...)...).
			Else(clientv3.OpGet(c.opt.LeaderKey), clientv3.OpGet(c.key))
	})
}

// read reads the leader's key and the head, and what others return.
func (c *chain) read(ctx context.Context, others ...clientv3.Op) (answer, error) {
	return c.send(ctx, func(txn clientv3.Txn) clientv3.Txn {
		return txn.Then(append([]clientv3.Op{clientv3.OpGet(c.opt.LeaderKey), clientv3.OpGet(c.key)}, others...)...)
	})
}

// callShare is the part of Options.Timeout that one request may take: a request that hangs, because its member of etcd
// is stopped, is followed by others.
const callShare = 3

func (c *chain) send(ctx context.Context, add func(clientv3.Txn) clientv3.Txn) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout/callShare)
	defer cancel()
	resp, err := add(c.kv.Txn(ctx)).Commit()
	if err != nil {
		return answer{}, err
	}
	a.revision = resp.Header.Revision
	for i, r := range resp.Responses {
		kvs := r.GetResponseRange().GetKvs()
		switch {
		case r.GetResponseRange() == nil:
			a.committed = true // reads are answered with ranges only
		case i == 0 && len(kvs) > 0:
			a.leader = kvs[0]
		case i == 1 && len(kvs) > 0:
			a.head = kvs[0]
		case i > 1:
			a.others = append(a.others, kvs...)
		}
	}
	return a, nil
}

// pauseBetween is the time between two requests of which the first failed.
const pauseBetween = 100 * time.Millisecond

// pause waits a moment, and reports whether ctx goes on.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pauseBetween)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
