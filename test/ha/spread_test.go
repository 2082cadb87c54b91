package ha

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// spreadQueues is a configuration with partitions.
func spreadQueues(partitions []string) string {
	text := "partitions:\n"
	for _, p := range partitions {
		text += "  - {name: " + p + ", queues: [{name: root, submitacl: '*', queues: [{name: default}]}]}\n"
	}
	return text
}

// newSpreadGroup starts members over which the partitions of a file are spread.
func newSpreadGroup(t *testing.T, members int, partitions []string) (g *group, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(spreadQueues(partitions)), 0o600))
	return newGroupAt(t, newEtcd(t), members, "--ha-spread", "--ha-move-interval", "1s", "--config", file), file
}

// spreadView is what a member shows of the group.
type spreadView struct {
	Coordinator string
	Generation  uint64
	Partitions  []struct {
		Name, Assigned, Leader string
		Epoch                  int64
	}
}

// spreadOver is how many partitions each member leads, as m knows it. An error: not each partition has a leader, the assigned one, that serves.
func spreadOver(t *testing.T, m *member) (by map[string]int, view spreadView, err error) {
	t.Helper()
	if code := status(m, "/readyz"); code != http.StatusOK {
		return nil, view, fmt.Errorf("%s: /readyz is %d", m.name, code)
	}
	getJSON(t, m.http, "/ws/v1/group", &view)
	by = map[string]int{}
	for _, p := range view.Partitions {
		if p.Leader == "" || p.Leader != p.Assigned {
			return nil, view, fmt.Errorf("partition %s is assigned to %q and led by %q", p.Name, p.Assigned, p.Leader)
		}
		if code := status(m, "/ws/v1/partition/"+p.Name+"/queues"); code != http.StatusOK {
			return nil, view, fmt.Errorf("partition %s at %s: %d", p.Name, m.name, code)
		}
		by[p.Leader]++
	}
	return by, view, nil
}

// status is that of an answer; 0: there was none.
func status(m *member, path string) int {
	client := http.Client{Timeout: time.Second}
	r, err := client.Get("http://" + m.http + path)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

// spreadWithin waits until the group is spread so, as all its members know it.
func (g *group) spreadWithin(within time.Duration, want map[string]int) (view spreadView) {
	g.t.Helper()
	until(g.t, within, func() error {
		for _, m := range g.members {
			if want[m.name] == 0 {
				continue
			}
			by, v, err := spreadOver(g.t, m)
			if err == nil && fmt.Sprint(by) != fmt.Sprint(want) {
				err = fmt.Errorf("%s: the members lead %v", m.name, by)
			}
			if err != nil {
				return err
			}
			view = v
		}
		return nil
	})
	return view
}

// The partitions are spread over the members that live; each member serves all of them; a new generation is in force in all.
func TestSpread_PartitionsMoveWithTheMembers(t *testing.T) {
	names := []string{"p1", "p2", "p3", "p4", "p5", "p6"}
	g, file := newSpreadGroup(t, 3, names)
	view := g.spreadWithin(4*electedWithin, map[string]int{"m1": 2, "m2": 2, "m3": 2})
	var shims []*shim
	for _, name := range names {
		s := newShimOf(g, name)
		s.submit(tasks(name, 10)...)
		shims = append(shims, s)
	}
	placed := func() {
		t.Helper()
		for _, s := range shims {
			until(t, placedWithin, s.allPlaced)
		}
	}
	placed()
	g.kill(g.members[1])
	g.spreadWithin(4*electedWithin, map[string]int{"m1": 3, "m3": 3})
	for i, name := range names {
		shims[i].submit(tasks(name+"-after", 10)...)
	}
	placed()
	g.start(g.members[1])
	g.spreadWithin(8*electedWithin, map[string]int{"m1": 2, "m2": 2, "m3": 2})
	changed := strings.Replace(spreadQueues(names), "name: default}", "name: default}, {name: added}", -1)
	assert.NilError(t, os.WriteFile(file, []byte(changed), 0o600))
	until(t, electedWithin, func() error {
		for _, name := range names {
			if code := status(g.members[0], "/ws/v1/partition/"+name+"/queue/root.added"); code != http.StatusOK {
				return fmt.Errorf("the generation is not in force in %s: %d", name, code)
			}
		}
		return nil
	})
	for i, name := range names {
		shims[i].submit(tasks(name+"-last", 10)...)
	}
	placed()
	for _, s := range shims {
		checkShim(t, s, 30)
	}
	assert.Equal(t, len(view.Partitions), 6)
}

// Random faults of members and of etcd while tasks of four partitions are submitted and the configuration changes: every task is placed once,
// none is lost, no answer is of an epoch of its partition that is over, and in the end the last configuration is in force in all partitions.
func TestSpread_RandomFaults(t *testing.T) {
	random := newRandom(t)
	names := []string{"p1", "p2", "p3", "p4"}
	g, file := newSpreadGroup(t, 3, names)
	var shims []*shim
	for _, name := range names {
		shims = append(shims, newShimOf(g, name))
	}
	configure := func(queue string) {
		text := strings.ReplaceAll(spreadQueues(names), "name: default}", "name: default}, {name: "+queue+"}")
		assert.NilError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		assert.NilError(t, os.Rename(file+".new", file))
	}
	rounds, submitted, faults := testscale.Runs(30), 0, map[string]int{}
	submit := func(round string) {
		for i, name := range names {
			shims[i].submit(tasks(name+round, 20)...)
		}
		submitted += 20
	}
	for round := range rounds {
		victim := g.members[random.IntN(len(g.members))]
		f := drawFault(random, victim)
		t.Logf("round %d: %s", round, f)
		faults[f.kind]++
		submit(fmt.Sprint("r", round))
		configure(fmt.Sprint("q", round))
		f.happen(g, func(pause time.Duration) {
			shims[0].wait(pause)
			submit(fmt.Sprint("s", round))
		})
		for _, s := range shims {
			until(t, 2*placedWithin, s.allPlaced)
		}
	}
	for _, s := range shims {
		checkShim(t, s, submitted)
	}
	until(t, 3*electedWithin, func() error {
		for _, name := range names {
			if code := status(g.members[0], fmt.Sprintf("/ws/v1/partition/%s/queue/root.q%d", name, rounds-1)); code != http.StatusOK {
				return fmt.Errorf("the last configuration is not in force in %s: %d", name, code)
			}
		}
		return nil
	})
	t.Logf("%d tasks in each of %d partitions, %v", submitted, len(names), faults)
}

// Members without --ha-spread lead nothing below the prefix of a group whose partitions are spread, whether that runs or has ended.
func TestSpread_AGroupIsOfOneKind(t *testing.T) {
	g, _ := newSpreadGroup(t, 1, []string{"p1"})
	g.spreadWithin(4*electedWithin, map[string]int{"m1": 1})
	assert.NilError(t, g.members[0].Stop())
	other := newGroupAt(t, g.etcd, 1)
	began := time.Now()
	for time.Since(began) < 3*ttl {
		assert.Assert(t, status(other.members[0], "/readyz") != http.StatusOK)
	}
	g.start(g.members[0])
	g.spreadWithin(4*electedWithin, map[string]int{"m1": 1})
	assert.Assert(t, status(other.members[0], "/readyz") != http.StatusOK)
}
