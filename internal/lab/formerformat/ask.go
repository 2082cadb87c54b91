package formerformat

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Asks and releases are written as what differs from the one before in the frame.

// The parts of an ask that are the same as in the ask before.
const (
	sameApp = 1 << iota
	sameAmounts
	sameCreated
	sameTagNames // and the task group and the required node
	sameRest     // priority, flags and policy
	sameClasses
	withClass // the command is SubmitAskWithClass
	withNode  // it is ReportAllocation
)

// maxDeltaTags bounds the tags that a delta tells apart.
const maxDeltaTags = 64

// askDelta is the last ask of a frame. The zero value is before the first.
type askDelta struct {
	ask      objects.Ask // without tags
	group    string
	node     objects.NodeID
	kind     byte // of details: without any, without tags, or with tags
	names    []string
	values   []string // of the tags, in the order of names
	class    string
	named    string
	reported objects.NodeID    // node of the last ReportAllocation
	release  scheduler.Release // the last one
}

// The kinds of details.
const (
	noDetails = iota
	noTags
	hasTags
)

// readAsk reads a command about an ask.
func (d *askDelta) readAsk(c *cursor) scheduler.Command {
	mask, a := c.byte(), d.ask
	a.Key = objects.AllocationKey(c.suffix(string(a.Key)))
	if mask&sameApp == 0 {
		a.App = objects.AppID(c.text())
	}
	if mask&sameAmounts == 0 {
		a.Amounts = c.amounts()
	}
	if mask&sameCreated == 0 {
		a.Created += objects.Timestamp(c.signed())
	}
	if mask&sameRest == 0 {
		a.Priority = int32(c.signed())
		flags := c.byte()
		a.Placeholder, a.Originator, a.Policy = flags&1 != 0, flags&2 != 0, objects.PreemptionPolicy(c.byte())
	}
	if mask&sameClasses == 0 {
		d.class, d.named = c.text(), c.text()
	}
	if mask&sameTagNames == 0 {
		d.readNames(c)
	} else {
		d.readChanges(c)
	}
	d.ask = a
	if d.kind != noDetails {
		a.Details = &objects.AskDetails{TaskGroup: d.group, RequiredNode: d.node}
	}
	if d.kind == hasTags {
		a.Details.Tags = make(map[string]string, len(d.names))
		for i, name := range d.names {
			a.Details.Tags[name] = d.values[i]
		}
	}
	switch mask & (withClass | withNode) {
	case withClass:
		return scheduler.SubmitAskWithClass{Ask: &a, Class: d.class, NamedClass: d.named}
	case withNode:
		d.reported = objects.NodeID(c.suffix(string(d.reported)))
		return scheduler.ReportAllocation{Ask: &a, Node: d.reported, Class: d.class}
	}
	return scheduler.SubmitAsk{Ask: &a}
}

func (d *askDelta) readNames(c *cursor) {
	d.kind, d.group, d.node = c.byte(), c.text(), objects.NodeID(c.text())
	n := c.unsigned()
	d.names, d.values = d.names[:0], d.values[:0]
	if n > maxDeltaTags || d.kind > hasTags {
		c.fail(errTorn)
		return
	}
	for range n {
		d.names, d.values = append(d.names, c.text()), append(d.values, c.text())
	}
}

func (d *askDelta) readChanges(c *cursor) {
	changed := c.unsigned()
	for i := range d.values {
		if changed&(1<<i) != 0 {
			d.values[i] = c.text()
		}
	}
}

// The parts of a release that are the same as in the one before.
const (
	sameReleaseApp = 1 << iota
	sameType
)

// readRelease reads a release.
func (d *askDelta) readRelease(c *cursor) scheduler.Command {
	m, mask := d.release, c.byte()
	m.Key = objects.AllocationKey(c.suffix(string(m.Key)))
	if mask&sameReleaseApp == 0 {
		m.App = objects.AppID(c.text())
	}
	if mask&sameType == 0 {
		m.Type, m.Scope = scheduler.Termination(c.signed()), scheduler.ReleaseScope(c.byte())
	}
	d.release = m
	return m
}

// amounts reads names and quantities.
func (c *cursor) amounts() resources.Amounts {
	n := c.unsigned()
	if n > uint64(len(c.b)) {
		c.fail(errTorn)
	}
	if n == 0 || c.failed != nil {
		return resources.Amounts{}
	}
	m := make(map[string]resources.Quantity, n)
	for range n {
		name := c.text()
		m[name] = resources.Quantity(c.signed())
	}
	return resources.FromMap(m)
}
