package loop_test

import (
	"fmt"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// The difference of two configurations is computed once, by the caller of Reload, and not again
// by the loop, which is paused.
func TestReload_DifferenceIsComputedOnce(t *testing.T) {
	tree := func(maxApplications int64) *configs.Config {
		conf := wideConfig(50)
		for i := range conf.Partitions[0].Root.Children {
			for j := range conf.Partitions[0].Root.Children[i].Children {
				q := &conf.Partitions[0].Root.Children[i].Children[j]
				// comparing limits allocates
				q.Limits = []limits.Limit{{Users: []string{fmt.Sprint("user", j)}, MaxResources: q.Max}}
			}
		}
		conf.Partitions[0].Root.Children[7].Children[7].MaxApplications = uint64(maxApplications)
		return conf
	}
	allocs := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return ignoringSink{} }, nil)
	defer c.End()
	confs := []*configs.Config{tree(1), tree(2), tree(3)}
	for _, conf := range confs[:2] { // afterwards all bounds of applications are known
		assert.NilError(t, c.Configure(t.Context(), conf))
	}
	once := allocs(func() { configs.NewDifference(confs[1].Partitions[0], confs[2].Partitions[0]) })
	assert.Assert(t, once > 10_000, "%d", once)
	reloaded := allocs(func() { assert.NilError(t, c.Configure(t.Context(), confs[2])) })
	assert.Assert(t, reloaded < once+once/2, "a reload allocates %d times, to compare %d", reloaded, once)
}
