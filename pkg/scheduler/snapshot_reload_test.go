package scheduler

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
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
			assert.Assert(t, q.Path == copied.Path && q.Max.Equal(copied.Max) && q.Children.Len() == copied.Children.Len(), "%s",
				q.Path)
			for i := range q.Children.Len() {
				compare(q.Children.At(i), copied.Children.At(i))
			}
		}
		compare(after.Root, full.Root)
		top := string(after.Root.Path) + "." + parent.Name
		assert.DeepEqual(t, changed, []string{"root", top, top + ".new", top + "." + parent.Children[5].Name})
	}
}

// The child template of a queue above is that of a draining queue too, which is in no configuration.
func TestSnapshot_ReloadChangesTheTemplateOfDrainingQueues(t *testing.T) {
	epoch := time.Unix(1_000_000_000, 0).UTC()
	config := func(vcore resources.Quantity, children ...configs.Queue) configs.Partition {
		template := &configs.ChildTemplate{Guaranteed: resources.GuaranteeFromMap(
			map[string]resources.Quantity{"vcore": vcore}), Settings: configs.DefaultSettings()}
		return configs.Partition{Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(),
			ChildTemplate: template, Children: children, Settings: configs.DefaultSettings()}}
	}
	drained := configs.Queue{Name: "drained", Parent: true, Settings: configs.DefaultSettings(),
		Children: []configs.Queue{{Name: "leaf", Settings: configs.DefaultSettings()}}}
	c := New(config(1, drained), nil)
	c.Step(epoch, AddApplication{App: "app", Queue: "root.drained.leaf", User: security.User{Name: "u"}})
	c.Step(epoch,
		SubmitAsk{Ask: &objects.Ask{Key: "k", App: "app",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}})
	c.Step(epoch, UseConfig{Partition: config(1)})
	c.Snapshot(epoch)
	c.Step(epoch, UseConfig{Partition: config(2)})
	view := c.Snapshot(epoch).Queue("root.drained")
	assert.Assert(t, view != nil, "it drains")
	assert.DeepEqual(t, view.Template.Guaranteed.String(),
		c.FullSnapshot(epoch).Queue("root.drained").Template.Guaranteed.String())
	assert.Equal(t, view.Template.Guaranteed.String(), "≥{vcore=2}")
}
