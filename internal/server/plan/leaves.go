package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

// DynamicLeaf has the settings of an existing dynamic leaf.
type DynamicLeaf struct {
	Settings configs.ChildTemplate
	Tags     []string // the quota tags that some of them are from (QUO-21)
}

// LeafTemplate is an existing dynamic leaf whose settings differ from its child template after the change (QUE-24).
type LeafTemplate struct {
	Partition string `json:"partition"`
	Queue     string `json:"queue"`

	Kept bool `json:"kept"` // it keeps its settings; false: it gets those of the template
	// Values are its settings, and those of the template; empty: it gets back what it was created with.
	Values []diff.ValueChange `json:"values,omitempty"`
}

// String is a line of text about the leaf.
func (l LeafTemplate) String() string {
	if len(l.Values) == 0 {
		return fmt.Sprintf("dynamic leaf %s gets back what it was created with", l.Queue)
	}
	text, sign := "gets the child template: ", " -> "
	if l.Kept {
		text, sign = "keeps its settings, unlike new leaves: ", ", new leaves "
	}
	values := make([]string, len(l.Values))
	for i, v := range l.Values {
		name := strings.TrimPrefix(v.Name, "childtemplate ")
		values[i] = name + " " + cmp.Or(v.Before, "not set") + sign + cmp.Or(v.After, "not set")
	}
	return "dynamic leaf " + l.Queue + " " + text + strings.Join(values, "; ")
}

// listLeaves lists the dynamic leaves whose child template changes, and those that get below their use by it.
func (p *Plan) listLeaves(yield func(), partition string, old, new queueTree, s *Partition) {
	for _, path := range slices.Sorted(maps.Keys(s.Dynamic)) {
		yield()
		was, before := old.nearest(path)
		is, after := new.nearest(path)
		if is == path || len(is) < len(was) {
			continue // it is configured from now on; or the queue above drains, and keeps its template
		}
		if before.UpdatesLeaves == after.UpdatesLeaves &&
			len(diff.Templates(before.ChildTemplate, after.ChildTemplate)) == 0 {
			continue
		}
		l, leaf := LeafTemplate{Partition: partition, Queue: path, Kept: !after.UpdatesLeaves}, s.Dynamic[path]
		if l.Kept && before.UpdatesLeaves {
			l.Kept = false
			p.Leaves = append(p.Leaves, l)
			continue
		}
		template := leaf.withTags(after.ChildTemplate)
		l.Values = diff.Templates(&leaf.Settings, &template)
		if len(l.Values) == 0 {
			continue
		}
		p.Leaves = append(p.Leaves, l)
		for name, limit := range template.Max.All() {
			most, had := leaf.Settings.Max.Get(name)
			if n := s.Allocated[path][name]; !l.Kept && n > limit && (!had || most != limit) {
				p.OverMax = append(p.OverMax, QueueOverMax{
					Partition: partition, Queue: path, Resource: name, Allocated: n, Max: limit, By: n - limit,
				})
			}
		}
	}
}

// withTags returns the child template as the leaf would have it: quota tags are above it (QUO-22).
func (l *DynamicLeaf) withTags(t *configs.ChildTemplate) configs.ChildTemplate {
	out := configs.ChildTemplate{Settings: configs.DefaultSettings()}
	if t != nil {
		out = *t
	}
	if slices.Contains(l.Tags, configs.TagMax) {
		out.Max = l.Settings.Max
	}
	if slices.Contains(l.Tags, configs.TagGuaranteed) {
		out.Guaranteed = l.Settings.Guaranteed
	}
	if slices.Contains(l.Tags, configs.TagMaxApplications) {
		out.MaxApplications = l.Settings.MaxApplications
	}
	return out
}

// nearest returns the configured queue at or above a path; an empty one in a configuration without the partition.
func (t queueTree) nearest(path string) (string, *configs.Queue) {
	for ; path != ""; path = path[:max(0, strings.LastIndexByte(path, '.'))] {
		if q := t[path]; q != nil {
			return path, q
		}
	}
	return "", &configs.Queue{}
}
