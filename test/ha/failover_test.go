package ha

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Bounds of how long something may take on a busy machine.
const (
	electedWithin = 20 * time.Second
	placedWithin  = 20 * time.Second
)

// tasks are n names of tasks of a round.
func tasks(round string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", round, i))
	}
	return names
}

// checkShim checks that every task of n is placed once, and none was refused or released.
func checkShim(t *testing.T, s *shim, n int) {
	t.Helper()
	until(t, placedWithin, s.allPlaced)
	placed, _, _, _, problems := s.state()
	assert.Equal(t, placed, n)
	assert.Equal(t, len(problems), 0, "%v", problems)
}

// knowsLeader returns an error until the standby m redirects: a leader answers before a standby has read its name in
// etcd.
func knowsLeader(client http.Client, m *member) error {
	r, err := client.Get("http://" + m.http + "/ws/v1/partitions")
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	if r.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%s knows no leader yet", m.name)
	}
	return nil
}

// Two groups with the same configuration and etcd each serve their partition, with a leader of their own, and say where
// the other is served. When a leader dies, the other group goes on.
func TestGroups_PartitionsAreServedByTheirGroups(t *testing.T) {
	const root = "queues: [{name: root, submitacl: '*'}]"
	file := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t,
		os.WriteFile(file, []byte("partitions:\n- {name: cpu, "+root+"}\n- {name: gpu, "+root+"}\n"), 0o600))
	e := newEtcd(t)
	cpu := newGroupAt(t, e, 2, "--config", file, "--partitions", "cpu")
	gpu := newGroupAt(t, e, 1, "--config", file, "--partitions", "gpu")
	serves := func(g *group, path string, status int, texts ...string) {
		t.Helper()
		until(t, electedWithin, func() error {
			r, err := http.Get("http://" + g.members[len(g.members)-1].http + "/ws/v1/partition/" + path + "/queues")
			if err != nil {
				return err
			}
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			for _, text := range texts {
				if !strings.Contains(string(body), text) {
					err = errors.Join(err, fmt.Errorf("%q is not in %q", text, body))
				}
			}
			if r.StatusCode != status {
				err = errors.Join(err, fmt.Errorf("status %d", r.StatusCode))
			}
			return err
		})
	}
	serves(cpu, "cpu", http.StatusOK)
	serves(gpu, "gpu", http.StatusOK)
	serves(cpu, "gpu", http.StatusNotFound, "served by another group", gpu.members[0].grpc, gpu.members[0].http)
	serves(gpu, "cpu", http.StatusNotFound, "served by another group")
	cpu.kill(cpu.members[0])
	serves(gpu, "cpu", http.StatusNotFound, cpu.members[1].grpc, cpu.members[1].http)
	serves(cpu, "cpu", http.StatusOK)
	serves(gpu, "gpu", http.StatusOK)
}

// One of three members leads, the others say where it is, and a shim that begins at any of them finds it.
func TestGroup_OneLeadsAndStandbysSayWhereItIs(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	leader, _ := p.leaderAfter(g, 0, electedWithin)
	for _, m := range g.members {
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		get := func(path string) (int, string, string) {
			r, err := client.Get("http://" + m.http + path)
			assert.NilError(t, err)
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			assert.NilError(t, err)
			return r.StatusCode, r.Header.Get("Location"), string(body)
		}
		code, _, metrics := get("/metrics")
		assert.Equal(t, code, http.StatusOK)
		if m == leader {
			assert.Assert(t, strings.Contains(metrics, "\ncanopy_ha_leader 1\n"))
			continue
		}
		assert.Assert(t, strings.Contains(metrics, "\ncanopy_ha_leader 0\n"))
		until(t, electedWithin, func() error { return knowsLeader(client, m) })
		code, at, _ := get("/ws/v1/partitions?pretty=1")
		assert.Equal(t, code, http.StatusTemporaryRedirect)
		assert.Equal(t, at, "http://"+leader.http+"/ws/v1/partitions?pretty=1")
		code, _, body := get("/readyz")
		assert.Equal(t, code, http.StatusServiceUnavailable)
		assert.Assert(t, strings.Contains(body, leader.grpc), body)
	}
	for g.members[0] == leader { // the shim begins at a standby
		g.members = append(g.members[1:], g.members[0])
	}
	s := newShim(g)
	s.submit(tasks("a", 100)...)
	checkShim(t, s, 100)
	_, _, followed, _, _ := s.state()
	assert.Equal(t, followed, 1)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// When the leader dies, another member leads, and the shim replays.
func TestGroup_LeaderIsKilled(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	s.submit(tasks("a", 100)...)
	checkShim(t, s, 100)
	g.kill(leader)
	s.submit(tasks("b", 100)...)
	killed := time.Now()
	next, _ := p.leaderAfter(g, epoch, electedWithin)
	t.Logf("another member served %v after the leader was killed", time.Since(killed).Round(time.Millisecond))
	assert.Assert(t, next != leader)
	checkShim(t, s, 200)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// A leader that is asked to end hands over at once.
func TestGroup_LeaderEnds(t *testing.T) {
	g := newGroup(t, 2)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	asked := time.Now()
	assert.NilError(t, leader.Signal(syscall.SIGTERM))
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	took := p.last().at.Sub(asked)
	t.Logf("another member served %v after the leader was asked to end", took.Round(time.Millisecond))
	assert.NilError(t, leader.Stop())
	assert.Assert(t, took < ttl, "%v: the lease was not given back", took)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// A leader that was stopped for longer than its lease answers nothing when it goes on.
func TestGroup_LeaderIsStoppedAndGoesOn(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	for round := range 3 {
		name := fmt.Sprint("r", round)
		s.submit(tasks(name, 50)...)
		assert.NilError(t, leader.Signal(syscall.SIGSTOP))
		s.submit(tasks(name+"b", 50)...)
		next, later := p.leaderAfter(g, epoch, electedWithin)
		assert.NilError(t, leader.Signal(syscall.SIGCONT))
		checkShim(t, s, 100*(round+1))
		until(t, electedWithin, func() error { return standsBy(leader) })
		leader, epoch = next, later
	}
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// standsBy is an error unless a member says that it stands by.
func standsBy(m *member) error {
	r, err := http.Get("http://" + m.http + "/readyz")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable {
		return errors.New("it is ready")
	}
	return nil
}

// Without etcd the leader stops answering at its deadline, and a member leads when etcd is back.
func TestGroup_EtcdIsKilled(t *testing.T) {
	g := newGroup(t, 3)
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	s := newShim(g)
	s.submit(tasks("a", 50)...)
	checkShim(t, s, 50)
	g.etcd.kill()
	killed := time.Now()
	until(t, electedWithin, func() error {
		for _, m := range g.members {
			if err := standsBy(m); err != nil {
				return err
			}
		}
		return nil
	})
	last := p.last().at.Sub(killed)
	t.Logf("the last answer came %v after etcd was killed", last.Round(time.Millisecond))
	assert.Assert(t, last < ttl+probeTimeout, "%v", last)
	s.submit(tasks("b", 50)...)
	g.etcd.start(t)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	checkShim(t, s, 100)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}
