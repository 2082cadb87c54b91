// Package storetest has what the tests of etcdstore have in common, with etcd in memory and with a real one: the fake,
// and random sequences of what a Store is asked to do.
//
// It leaves to the tests what must hold. The rule: the fake does with a transaction what etcd does, which a test with a
// real etcd compares.
package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// KV is etcd in memory, as far as etcdstore.KV needs it. The zero value is empty. It is safe for concurrent use.
type KV struct {
	// Fault is asked before each transaction, which may write, what goes wrong; nil: nothing.
	Fault func(mayWrite bool) Fault
	// MaxRequest bounds the length of a request, in bytes of keys and values; 0: 1.5 MiB.
	MaxRequest int
	// Label is noted in Committed for the transactions that are made from now on.
	Label int

	mu        sync.Mutex
	revision  int64
	keys      map[string]*mvccpb.KeyValue
	committed []int
	delayed   []*txn
}

// Fault says what goes wrong with a transaction. The zero value is nothing.
type Fault struct {
	Err     error // what the client gets
	Hangs   bool  // the client gets nothing until its context ends, whose error it has then
	Applied bool  // the transaction takes effect all the same
	Delayed bool  // it takes effect, if its comparisons hold then, when Release is called
}

// Txn implements etcdstore.KV.
func (k *KV) Txn(ctx context.Context) clientv3.Txn { return &txn{kv: k, ctx: ctx, label: k.Label} }

// Committed are the labels of the transactions that have written something because their comparisons held, in their
// order.
func (k *KV) Committed() []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.committed)
}

// Release applies the transactions that were delayed.
func (k *KV) Release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.delayed {
		_, _ = k.apply(t) // there is no client any more
	}
	k.delayed = nil
}

// Put sets a key, and returns the revision.
func (k *KV) Put(key, value string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next()
	k.put(key, []byte(value))
	return k.revision
}

// Delete deletes a key.
func (k *KV) Delete(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys[key] != nil {
		k.next()
		delete(k.keys, key)
	}
}

// Value is the value of a key; empty: it is absent.
func (k *KV) Value(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kv, ok := k.keys[key]; ok {
		return string(kv.Value)
	}
	return ""
}

// Keys are all keys, in order.
func (k *KV) Keys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.keys))
}

// Elect makes another leader, and returns its epoch.
func (k *KV) Elect(leaderKey, name string) int64 {
	k.Delete(leaderKey)
	return k.Put(leaderKey, name)
}

// next begins a revision. An empty etcd is at revision 1.
func (k *KV) next() { k.revision = max(k.revision, 1) + 1 }

func (k *KV) put(key string, value []byte) {
	if k.keys == nil {
		k.keys = map[string]*mvccpb.KeyValue{}
	}
	if len(value) == 0 {
		value = nil // as etcd's client has it
	}
	kv := &mvccpb.KeyValue{Key: []byte(key), Value: value, CreateRevision: k.revision, ModRevision: k.revision, Version: 1}
	if before, ok := k.keys[key]; ok {
		kv.CreateRevision, kv.Version = before.CreateRevision, before.Version+1
	}
	k.keys[key] = kv
}

// txn implements clientv3.Txn.
type txn struct {
	kv         *KV
	ctx        context.Context // of the call
	label      int
	compares   []clientv3.Cmp
	then, orOp []clientv3.Op
}

func (t *txn) If(cs ...clientv3.Cmp) clientv3.Txn   { t.compares = cs; return t }
func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn { t.then = ops; return t }
func (t *txn) Else(ops ...clientv3.Op) clientv3.Txn { t.orOp = ops; return t }
func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	fault := Fault{}
	if t.kv.Fault != nil {
		fault = t.kv.Fault(slices.ContainsFunc(t.then, clientv3.Op.IsPut))
	}
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	resp, err := t.kv.commit(t, fault)
	if fault.Hangs {
		<-t.ctx.Done()
		return nil, t.ctx.Err()
	}
	return resp, err
}

func (k *KV) commit(t *txn, fault Fault) (*clientv3.TxnResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case fault.Delayed:
		k.delayed = append(k.delayed, t)
		return nil, fault.Err
	case fault.Err == nil && !fault.Hangs:
		return k.apply(t)
	case fault.Applied:
		_, _ = k.apply(t) // the answer is lost
	}
	return nil, fault.Err
}

// apply makes a transaction. Requires: mu.
func (k *KV) apply(t *txn) (*clientv3.TxnResponse, error) {
	if err := k.check(t); err != nil {
		return nil, err
	}
	resp := &clientv3.TxnResponse{Succeeded: !slices.ContainsFunc(t.compares,
		func(c clientv3.Cmp) bool { return !k.holds(c) })}
	ops := t.then
	if !resp.Succeeded {
		ops = t.orOp
	}
	// A transaction that only deletes what is absent has no revision of its own.
	if slices.ContainsFunc(ops, func(op clientv3.Op) bool { return op.IsPut() || op.IsDelete() && len(k.find(op)) > 0 }) {
		k.next()
		k.committed = append(k.committed, t.label)
	}
	for _, op := range ops {
		resp.Responses = append(resp.Responses, k.do(op))
	}
	resp.Header = &etcdserverpb.ResponseHeader{Revision: max(k.revision, 1)}
	return resp, nil
}

// check has the checks of etcd that a transaction of Store could fail. Requires: mu.
func (k *KV) check(t *txn) error {
	size := 0
	for _, ops := range [][]clientv3.Op{t.then, t.orOp} {
		puts := map[string]bool{}
		for _, op := range ops {
			size += len(op.KeyBytes()) + len(op.ValueBytes())
			if op.IsPut() && puts[string(op.KeyBytes())] {
				return rpctypes.ErrDuplicateKey
			}
			if op.IsPut() {
				puts[string(op.KeyBytes())] = true
			}
		}
		for _, op := range ops {
			for key := range puts {
				if op.IsDelete() && within(op, key) {
					return rpctypes.ErrDuplicateKey
				}
			}
		}
	}
	limit := k.MaxRequest
	if limit == 0 {
		limit = 3 << 19
	}
	if size > limit {
		return rpctypes.ErrRequestTooLarge
	}
	return nil
}

// holds reports whether a comparison holds; an absent key has the revisions 0. Requires: mu.
func (k *KV) holds(c clientv3.Cmp) bool {
	kv := k.keys[string(c.Key)]
	if kv == nil {
		kv = &mvccpb.KeyValue{}
	}
	if c.Result != etcdserverpb.Compare_EQUAL {
		panic(fmt.Sprintf("storetest: the comparison %v is not implemented", c.Result))
	}
	switch want := c.TargetUnion.(type) {
	case *etcdserverpb.Compare_CreateRevision:
		return kv.CreateRevision == want.CreateRevision
	case *etcdserverpb.Compare_ModRevision:
		return kv.ModRevision == want.ModRevision
	}
	panic(fmt.Sprintf("storetest: the comparison of %T is not implemented", c.TargetUnion))
}

// within reports whether a key is in the range of an operation.
func within(op clientv3.Op, key string) bool {
	first, end := string(op.KeyBytes()), string(op.RangeBytes())
	if end == "" {
		return key == first
	}
	return key >= first && key < end
}

// find returns the keys in the range of an operation, in order. Requires: mu.
func (k *KV) find(op clientv3.Op) (found []string) {
	for key := range k.keys {
		if within(op, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// do makes one operation at the revision. Requires: mu.
func (k *KV) do(op clientv3.Op) *etcdserverpb.ResponseOp {
	switch {
	case op.IsPut():
		k.put(string(op.KeyBytes()), slices.Clone(op.ValueBytes()))
		return &etcdserverpb.ResponseOp{
			Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{}},
		}
	case op.IsDelete():
		found := k.find(op)
		for _, key := range found {
			delete(k.keys, key)
		}
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseDeleteRange{
			ResponseDeleteRange: &etcdserverpb.DeleteRangeResponse{Deleted: int64(len(found))},
		}}
	case op.IsGet():
		r := &etcdserverpb.RangeResponse{}
		for _, key := range k.find(op) {
			r.Kvs = append(r.Kvs, k.keys[key])
		}
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: r}}
	}
	panic("storetest: the operation is not implemented")
}
