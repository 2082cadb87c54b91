package webservice

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// queuesConf has 20 parent queues with 20 leaf queues each; most is the max of root.p7.l3, 10 of the others.
func queuesConf(t *testing.T, most int) *configs.Config {
	t.Helper()
	var b strings.Builder
	b.WriteString("partitions: [{queues: [{name: root, submitacl: '*', queues: [")
	for i := range 20 {
		fmt.Fprintf(&b, "{name: p%d, queues: [", i)
		for j := range 20 {
			n := 10
			if i == 7 && j == 3 {
				n = most
			}
			fmt.Fprintf(&b, "{name: l%d, resources: {max: {vcore: %d}}}, ", j, n)
		}
		b.WriteString("]}, ")
	}
	b.WriteString("]}]}]")
	conf, problems := queuesyaml.Load([]byte(b.String()))
	assert.Assert(t, conf != nil, "%v", problems)
	return conf
}

// After a reload, only the queues that it changed, and those above, are encoded again.
func TestQueues_ReloadEncodesOnlyWhatItChanges(t *testing.T) {
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), queuesConf(t, 10)))
	l, _ := c.Partition("default")
	read := func() *scheduler.Snapshot {
		snap, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		return snap
	}
	first := encodeTree(t.Context(), read(), nil)
	known := map[*encodedQueue]bool{}
	fresh := func(tree *queueTree) (paths []string) {
		var below func(x *encodedQueue)
		below = func(x *encodedQueue) {
			if !known[x] {
				known[x] = true
				paths = append(paths, string(x.view.Path))
			}
			for _, child := range x.children {
				below(child)
			}
		}
		below(tree.root)
		return paths
	}
	assert.Equal(t, len(fresh(first)), 421)
	assert.NilError(t, c.Configure(t.Context(), queuesConf(t, 11)))
	second := encodeTree(t.Context(), read(), first)
	assert.DeepEqual(t, fresh(second), []string{"root", "root.p7", "root.p7.l3"})
	assert.NilError(t, c.Configure(t.Context(), queuesConf(t, 11)))
	assert.Equal(t, len(fresh(encodeTree(t.Context(), read(), second))), 0, "an unchanged tree was encoded again")
}
