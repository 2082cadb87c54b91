package ha

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"
)

// etcdElection is after how long without its quorum the leader of etcd stands down. Until then etcd 3.4 renews leases.
const etcdElection = time.Second

// standByAll is an error unless all members stand by.
func standByAll(g *group) error {
	for _, m := range g.members {
		if err := standsBy(m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// A cluster of etcd that loses one of three goes on; without quorum no member leads; with it again one does.
func TestGroup_EtcdWithoutQuorum(t *testing.T) {
	etcds := newEtcds(t, 3)
	var endpoints []string
	for _, e := range etcds {
		endpoints = append(endpoints, e.client)
	}
	g := newGroupAt(t, etcds[0], 3, "--etcd-endpoints", strings.Join(endpoints, ","))
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	s.submit(tasks("a", 50)...)
	checkShim(t, s, 50)
	etcds[1].kill()
	s.wait(2 * ttl) // for which an etcd of two of three has to renew the lease, or elect
	s.submit(tasks("b", 50)...)
	checkShim(t, s, 100)
	etcds[2].kill()
	killed := time.Now()
	until(t, electedWithin, func() error { return standByAll(g) })
	last := p.last()
	t.Logf("the last answer came %v after the quorum was lost", last.at.Sub(killed).Round(time.Millisecond))
	assert.Assert(t, last.at.Sub(killed) < etcdElection+ttl+probeTimeout, "%v", last.at.Sub(killed))
	epoch = max(epoch, last.epoch)
	s.submit(tasks("c", 50)...)
	etcds[1].start(t)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	checkShim(t, s, 150)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// An etcd that answers late again and again is no reason to lose or to repeat anything.
func TestGroup_EtcdIsSlow(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	_, _ = p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	signal := func(what syscall.Signal) { assert.NilError(t, g.etcd.cmd.Process.Signal(what)) }
	// the last for as long as a lease: the leader may change
	for i, slow := range []time.Duration{ttl / 10, ttl / 5, ttl / 2, ttl / 2, ttl} {
		for j := range 4 {
			signal(syscall.SIGSTOP)
			s.submit(tasks(fmt.Sprint("t", i, "-", j), 10)...)
			s.wait(slow)
			signal(syscall.SIGCONT)
			s.wait(ttl / 10)
		}
		t.Logf("late by %v: epoch %d", slow, p.last().epoch)
	}
	checkShim(t, s, 200)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// The leader goes on while etcd is full. Another member cannot become the leader until there is space again, and says
// why.
func TestGroup_EtcdIsFull(t *testing.T) {
	g := newGroupAt(t, newEtcd(t, "--quota-backend-bytes", "16777216"), 2)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	s.submit(tasks("a", 50)...)
	checkShim(t, s, 50)
	client, ctx := g.etcd.connect(t, clientv3.Config{})
	var full error
	for i := 0; full == nil && i < 40; i++ {
		_, full = client.Put(ctx, fmt.Sprint("/other/", i), strings.Repeat("x", 1<<20))
	}
	assert.Assert(t, errors.Is(full, rpctypes.ErrNoSpace), "%v", full)
	s.wait(2 * ttl)
	s.submit(tasks("b", 50)...)
	checkShim(t, s, 100)
	assert.Equal(t, p.last().epoch, epoch, "the leader has changed without a reason")

	g.kill(leader)
	var next *member
	for _, m := range g.members {
		if m != leader {
			next = m
		}
	}
	s.submit(tasks("c", 50)...)
	until(t, electedWithin, func() error {
		if text := next.Log(); !strings.Contains(text, "database space exceeded") {
			return fmt.Errorf("the log does not say that there is no space: %s", text)
		}
		return nil
	})
	assert.NilError(t, standsBy(next))
	r, err := client.Delete(ctx, "/other/", clientv3.WithPrefix())
	assert.NilError(t, err)
	_, err = client.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
	assert.NilError(t, err)
	_, err = client.Defragment(ctx, g.etcd.client)
	assert.NilError(t, err)
	_, err = client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	assert.NilError(t, err)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	checkShim(t, s, 150)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}
