package etcdstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const leaderKey = "/canopy/a/leader"

// elect makes another leader of an etcd.
func elect(kv *storetest.KV) etcdstore.Options {
	return etcdstore.Options{Prefix: "/canopy/a", LeaderKey: leaderKey, Epoch: kv.Elect(leaderKey, "http://member-2")}
}

func open(t *testing.T, kv *storetest.KV, opt etcdstore.Options) *etcdstore.Store {
	t.Helper()
	s, err := etcdstore.Open(t.Context(), kv, opt)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}

func generationOf(number uint64, text string) *reload.Generation {
	return &reload.Generation{Number: number, At: time.Unix(0, 0).UTC(), Source: reload.REST, From: "::1", Text: text,
		Checksum: "C"}
}

// cluster is a reload.Cluster without partitions.
type cluster struct{ conf *configs.Config }

func (c *cluster) Config() *configs.Config { return c.conf }
func (c *cluster) Reload(_ context.Context, conf *configs.Config) (time.Duration, error) {
	c.conf = conf
	return 0, nil
}

// The next leader finds the configuration in force, the history, and the last checksum of each source (HAS-1).
func TestStore_NextLeaderHasTheHistory(t *testing.T) {
	text := func(queue string) []byte {
		return []byte("partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: " + queue +
			"}]}]}]")
	}
	var kv storetest.KV
	kv.Put("/canopy/a/kind", etcdstore.Encode("kind", []byte("one-leader"))) // as members of before wrote (HAS-7)
	term := func(first *reload.Proposal) *reload.Reloader {
		s := open(t, &kv, elect(&kv))
		if first == nil {
			var err error
			first, err = s.Latest(queuesyaml.Options{})
			assert.NilError(t, err)
		}
		return reload.New(&cluster{}, first, reload.Options{Store: s, StoredState: s.StoredState(), MaxGenerations: 3})
	}
	apply := func(r *reload.Reloader, source reload.Source, queue string) reload.Result {
		p, err := r.Read(source, "rm-1", text(queue))
		assert.NilError(t, err)
		result, err := r.Apply(t.Context(), p)
		assert.NilError(t, err)
		assert.NilError(t, result.StoreError)
		return result
	}

	former := term(reload.Default())
	apply(former, reload.RM, "a")
	apply(former, reload.REST, "b")
	apply(former, reload.REST, "c")
	_, err := former.Rollback(t.Context(), 3, 0)
	assert.NilError(t, err)

	next := term(nil)
	assert.Equal(t, next.Current().Number, uint64(5))
	assert.Equal(t, next.Current().Text, string(text("b")))
	assert.Equal(t, len(next.Generations()), 3)
	assert.Assert(t, !apply(next, reload.RM, "a").Changed, "the resource manager repeats its text")
	_, err = next.Rollback(t.Context(), 4, 0)
	assert.NilError(t, err)
	assert.Equal(t, next.Current().Text, string(text("c")))

	p, err := former.Read(reload.REST, "", text("d"))
	assert.NilError(t, err)
	result, err := former.Apply(t.Context(), p)
	assert.NilError(t, err)
	assert.ErrorIs(t, result.StoreError, etcdstore.ErrNotLeader)
	assert.Equal(t, term(nil).Current().Text, string(text("c")))
	assert.DeepEqual(t, kv.Keys(), []string{
		"/canopy/a/config/generations/00000000000000000004", "/canopy/a/config/generations/00000000000000000005",
		"/canopy/a/config/generations/00000000000000000006",
		"/canopy/a/config/index", "/canopy/a/config/last-checksums/rm rm-1", "/canopy/a/kind", leaderKey,
	})
}

// An error names the key of the leader and what it is now, and nothing is written (HAS-2).
func TestStore_OtherLeaderIsNamed(t *testing.T) {
	var kv storetest.KV
	opt := elect(&kv)
	s := open(t, &kv, opt)
	assert.NilError(t, s.Add(generationOf(1, "one"), 1))
	before := kv.Value("/canopy/a/config/index")
	elect(&kv)
	for _, err := range []error{s.Add(generationOf(2, "two"), 1), s.SaveChecksum("rm rm-1", "C")} {
		assert.ErrorIs(t, err, etcdstore.ErrNotLeader)
		assert.ErrorContains(t, err,
			`: another leader was elected: the key /canopy/a/leader is of epoch 5 with the value "http://member-2", and this `+
				`term of epoch 2`)
	}
	kv.Delete(leaderKey)
	err := s.Add(generationOf(2, "two"), 1)
	assert.ErrorIs(t, err, etcdstore.ErrNotLeader)
	assert.ErrorContains(t, err,
		"generation 2 of the history in etcd below /canopy/a/config/: another leader was elected, or none: the key "+
			"/canopy/a/leader of epoch 2 is gone")
	assert.Equal(t, kv.Value("/canopy/a/config/index"), before)
	assert.Equal(t, len(kv.Keys()), 2)
	_, err = etcdstore.Open(t.Context(), &kv, opt)
	assert.ErrorIs(t, err, etcdstore.ErrNotLeader)
}

// What the operator can do is part of the error, and nothing is written (HAS-4).
func TestStore_RefusalsOfEtcdAreExplained(t *testing.T) {
	var kv storetest.KV
	s := open(t, &kv, elect(&kv))
	random := rand.New(rand.NewPCG(1, 0))
	noise := make([]byte, 2<<20) // hexadecimal digits of random bytes are compressed to half their length
	for i := range noise {
		noise[i] = "0123456789abcdef"[random.IntN(16)]
	}
	assert.NilError(t, s.Add(generationOf(1, string(noise)), 1))
	err := s.Add(generationOf(2, string(noise)+string(noise)), 1)
	assert.ErrorIs(t, err, rpctypes.ErrRequestTooLarge)
	assert.ErrorContains(t, err, "generation 2 of the history in etcd below /canopy/a/config/: the request has 2")
	assert.ErrorContains(t, err, "bytes compressed, and etcd takes 1572864 bytes by default (--max-request-bytes)")

	kv.Fault = func(mayWrite bool) storetest.Fault {
		if mayWrite {
			return storetest.Fault{Err: rpctypes.ErrNoSpace}
		}
		return storetest.Fault{}
	}
	err = s.Add(generationOf(2, ""), 1)
	assert.ErrorIs(t, err, rpctypes.ErrNoSpace)
	assert.ErrorContains(t, err, "--quota-backend-bytes")
	kv.Fault = nil
	assert.Equal(t, len(open(t, &kv, elect(&kv)).StoredState().Generations), 1)
}

// Each call ends in time, also if etcd does not answer, and says that the outcome is unknown (HAS-3).
func TestStore_CallsAreBounded(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"hangs": {Hangs: true}, "is down": {Err: rpctypes.ErrNoLeader},
		"hangs and writes later": {Hangs: true, Delayed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kv storetest.KV
				opt := elect(&kv)
				s := open(t, &kv, opt)
				kv.Fault = func(bool) storetest.Fault { return fault }
				bounded := func(call func() error) error {
					began := time.Now()
					err := call()
					assert.Equal(t, time.Since(began), etcdstore.DefaultTimeout)
					return err
				}
				assert.ErrorIs(t, bounded(func() error { return s.Add(generationOf(1, ""), 1) }), etcdstore.ErrNoAnswer)
				assert.ErrorIs(t, bounded(func() error { return s.SaveChecksum("rm", "C") }), etcdstore.ErrNoAnswer)
				assert.ErrorContains(t, bounded(func() error {
					_, err := etcdstore.Open(t.Context(), &kv, opt)
					return err
				}), "the history of configurations in etcd below /canopy/a/config/ cannot be read: etcd did not answer within 6s")

				if fault.Err != nil {
					assert.ErrorIs(t, s.Add(generationOf(1, ""), 1), fault.Err, "the last attempt only says that time is up")
				}
				ended := make(chan error)
				go func() { ended <- s.Add(generationOf(1, ""), 1) }()
				synctest.Wait()
				assert.NilError(t, s.Close())
				assert.ErrorIs(t, <-ended, etcdstore.ErrClosed)
			})
		})
	}
}

// A value that is damaged, foreign or missing is an error with its key, and is left as it is (HAS-5).
func TestOpen_DamageIsNamed(t *testing.T) {
	const generations = "/canopy/a/config/generations/0000000000000000000"
	for name, c := range map[string]struct {
		damage func(kv *storetest.KV)
		want   string
	}{
		"a byte of a generation": {func(kv *storetest.KV) {
			value := []byte(kv.Value(generations + "2"))
			value[len(value)-1] ^= 1
			kv.Put(generations+"2", string(value))
		}, generations + "2: the checksum does not match"},
		"a value is that of another key": {func(kv *storetest.KV) {
			kv.Put(generations+"2", kv.Value(generations+"1"))
		}, generations + "2: the checksum does not match"},
		"a generation is missing": {func(kv *storetest.KV) { kv.Delete(generations + "2") }, generations + "2 is missing"},
		"the last is missing":     {func(kv *storetest.KV) { kv.Delete(generations + "3") }, generations + "3 is missing"},
		"the index is missing": {func(kv *storetest.KV) { kv.Delete("/canopy/a/config/index") },
			"/canopy/a/config/index is missing"},
		"another format": {func(kv *storetest.KV) { kv.Put(generations+"3", "canopy etcd 2\nabc") },
			generations + `3: it is not of the format "canopy etcd 1\n" but begins with "canopy etcd 2\n"`},
		"an empty value": {func(kv *storetest.KV) { kv.Put("/canopy/a/config/last-checksums/rm rm-1", "") },
			`last-checksums/rm rm-1: it is not of the format "canopy etcd 1\n" but begins with ""`},
		"a value of another program": {func(kv *storetest.KV) { kv.Put("/canopy/a/config/index", "x") },
			"/canopy/a/config/index: it is not of the format"},
		"a key of another program": {func(kv *storetest.KV) { kv.Put("/canopy/a/config/recipes", "x") },
			"/canopy/a/config/recipes: it is not of the format"},
		"a key of a later version": {func(kv *storetest.KV) {
			kv.Put("/canopy/a/config/recipes", etcdstore.Encode("config/recipes", nil))
		}, "/canopy/a/config/recipes: it is unknown to this version"},
		"a generation with another number": {func(kv *storetest.KV) {
			text, err := reload.EncodeGeneration(generationOf(3, "text"))
			assert.NilError(t, err)
			kv.Put(generations+"2", etcdstore.Encode("config/generations/00000000000000000002", text))
		}, generations + "2: it has generation 3"},
		"an older index": {func(kv *storetest.KV) {
			var other storetest.KV
			s := open(t, &other, elect(&other))
			assert.NilError(t, s.Add(generationOf(1, "one"), 1))
			kv.Put("/canopy/a/config/index", other.Value("/canopy/a/config/index"))
		}, generations + "2 is not listed in config/index"},
	} {
		t.Run(name, func(t *testing.T) {
			var kv storetest.KV
			s := open(t, &kv, elect(&kv))
			for n := range uint64(3) {
				assert.NilError(t, s.Add(generationOf(n+1, "text"), 1))
			}
			assert.NilError(t, s.SaveChecksum("rm rm-1", "C"))
			c.damage(&kv)
			before := kv.Keys()
			_, err := etcdstore.Open(t.Context(), &kv, elect(&kv))
			assert.ErrorContains(t, err,
				"the history of configurations in etcd below /canopy/a/config/ cannot be used: it is damaged: the key ")
			assert.ErrorContains(t, err, c.want)
			assert.DeepEqual(t, kv.Keys(), before)
		})
	}
}

// All keys can be copied below another prefix, as after a restore beside what is there.
func TestOpen_KeysCanBeCopied(t *testing.T) {
	var kv storetest.KV
	assert.NilError(t, open(t, &kv, elect(&kv)).Add(generationOf(1, "text"), 1))
	for _, key := range kv.Keys() {
		kv.Put(strings.Replace(key, "/canopy/a/", "/canopy/b/", 1), kv.Value(key))
	}
	opt := elect(&kv)
	opt.Prefix = "/canopy/b"
	assert.Equal(t, open(t, &kv, opt).StoredState().Generations[0].Text, "text")
}

func TestStore_LatestInvalidIsAnError(t *testing.T) {
	var kv storetest.KV
	s := open(t, &kv, elect(&kv))
	first, err := s.Latest(queuesyaml.Options{})
	assert.NilError(t, err)
	assert.Assert(t, first == nil)
	assert.NilError(t, s.Add(generationOf(7, "partitions: 7"), 1))
	_, err = open(t, &kv, elect(&kv)).Latest(queuesyaml.Options{})
	bad := new(reload.InvalidError)
	assert.Assert(t, errors.As(err, &bad))
	assert.ErrorContains(t, err, "generation 7 of the history in etcd below /canopy/a/config/")
}
