package scheduler

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// After a reload the views of changed queues and their ancestors are new, all others are shared, and the
// snapshot equals a full copy.
func TestSnapshot_ReloadViewsOnlyWhatItChanges(t *testing.T) {
	c, now := loadedCore(t, treeConfig(2, 8), 4, 64)
	before := c.Snapshot(now)
	conf := c.Partition().Config()
	conf.Root.Children = slices.Clone(conf.Root.Children)
	parent := &conf.Root.Children[3]
	parent.Children = slices.Clone(parent.Children)
	parent.Children[5].Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 123_000})
	parent.Children = append(parent.Children, configs.Queue{Name: "new", Settings: configs.DefaultSettings()})
	for range 2 { // the second reload changes nothing
		for _, e := range c.Step(now, UseConfig{Partition: conf}) {
			_, refused := e.(Refused)
			assert.Assert(t, !refused, "%s", e)
		}
		after, full := c.Snapshot(now), c.FullSnapshot(now)
		var changed []string
		var compare func(q, copied *QueueView)
		compare = func(q, copied *QueueView) {
			if before.Queue(q.Path) != q {
				changed = append(changed, string(q.Path))
			}
			assert.Assert(t, q.Path == copied.Path && q.Max.Equal(copied.Max) && q.Children.Len() == copied.Children.Len(), "%s", q.Path)
			for i := range q.Children.Len() {
				compare(q.Children.At(i), copied.Children.At(i))
			}
		}
		compare(after.Root, full.Root)
		top := string(after.Root.Path) + "." + parent.Name
		assert.DeepEqual(t, changed, []string{"root", top, top + ".new", top + "." + parent.Children[5].Name})
	}
}
