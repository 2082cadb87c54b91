package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// One reload may change the guarantees, and so the shares, of many queues that are in the order of
// one parent. Each gets its new key only when it is reindexed: while one is moved, all others have
// to be in order. Among priorities so far from 0 that abbreviated keys do not tell shares apart, the keys themselves
// are compared while they change.
func TestReconfigure_ManySharesChangeInOneParent(t *testing.T) {
	for _, priority := range []int32{0, 1_000_000} {
		t.Run(fmt.Sprint("priority ", priority), func(t *testing.T) { manySharesChange(t, priority) })
	}
}

func manySharesChange(t *testing.T, priority int32) {
	const queues = 40
	conf := func(guarantee func(i int) int64) configs.Partition {
		c := configs.Partition{Name: "default",
			Root: configs.Queue{Name: "root", Parent: true, Settings: configs.DefaultSettings()}}
		for i := range queues {
			leaf := configs.Queue{Name: fmt.Sprintf("q%02d", i), Settings: configs.DefaultSettings()}
			leaf.Guaranteed = resources.GuaranteeFromMap(
				map[string]resources.Quantity{"vcore": resources.Quantity(guarantee(i))})
			c.Root.Children = append(c.Root.Children, leaf)
		}
		return c
	}
	rising := conf(func(i int) int64 { return int64(10 + i) })
	p := NewPartition(rising)
	assert.NilError(t, p.AddNode("n", cores(10*queues), nil, true))
	for i := range queues {
		app := AppID(fmt.Sprintf("app%02d", i))
		assert.NilError(t,
			p.AddApplication(app, security.User{Name: "ann"}, QueuePath(fmt.Sprintf("root.q%02d", i)), nil, epoch))
		for n := range 2 {
			x, err := p.AddAsk(&Ask{App: app, Key: AllocationKey(fmt.Sprintf("%s-%d", app, n)), Amounts: cores(1),
				Priority: priority, Created: TimestampOf(epoch)}, epoch)
			assert.NilError(t, err)
			if n == 0 {
				assert.NilError(t, p.Place(x, p.nodes["n"], epoch))
			}
		}
	}
	p.RefreshShares()
	for i, next := range []configs.Partition{
		conf(func(i int) int64 { return int64(10 + queues - i) }),
		conf(func(i int) int64 { return int64(10 + i*17%queues) }),
		rising,
	} {
		assert.NilError(t, p.Reconfigure(next, nil))
		assert.NilError(t, p.Check(), "reload %d", i)
	}
}
