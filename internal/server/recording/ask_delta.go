package recording

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Nearly all commands are asks and releases, and one is much like the one before. So in a frame they are written as
// what differs: that is a third of the bytes, and less work than to compress them.

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

// maxDeltaTags is how many tags a delta tells apart.
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

// reset forgets the asks before, and keeps the memory.
func (d *askDelta) reset() {
	*d = askDelta{names: d.names[:0], values: d.values[:0]}
}

// askCommand is a command about an ask, in parts.
type askCommand struct {
	ask          *objects.Ask // nil: it is no such command, or has more parts than these
	class, named string
	node         objects.NodeID
	with         byte // withClass, withNode or neither
}

// askCommandOf are the parts of a command.
func askCommandOf(cmd scheduler.Command) (p askCommand) {
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		p = askCommand{ask: m.Ask}
	case scheduler.ReportAllocation:
		p = askCommand{ask: m.Ask, class: m.Class, node: m.Node, with: withNode}
	case scheduler.SubmitAskWithClass:
		if m.RejectReason == "" && m.RejectKind == "" && m.AllowedUsers == nil {
			p = askCommand{ask: m.Ask, class: m.Class, named: m.NamedClass, with: withClass}
		}
	}
	if p.ask != nil && p.ask.Details != nil && len(p.ask.Details.Tags) > maxDeltaTags {
		p.ask = nil
	}
	return p
}

// appendAsk appends a command about an ask as the difference to the one before.
func (d *askDelta) appendAsk(b []byte, p *askCommand) []byte {
	a := p.ask
	last := &d.ask
	kind, group, node, tags := detailsOf(a)
	mask := p.with
	if a.App == last.App {
		mask |= sameApp
	}
	if a.Amounts.Equal(last.Amounts) {
		mask |= sameAmounts
	}
	if a.Created == last.Created {
		mask |= sameCreated
	}
	if a.Priority == last.Priority && a.Placeholder == last.Placeholder && a.Originator == last.Originator &&
		a.Policy == last.Policy {
		mask |= sameRest
	}
	if p.class == d.class && p.named == d.named {
		mask |= sameClasses
	}
	var changed uint64
	if kind == d.kind && group == d.group && node == d.node {
		var same bool
		changed, same = d.take(tags)
		if same {
			mask |= sameTagNames
		}
	}
	b = appendSuffix(append(b, mask), string(last.Key), string(a.Key))
	if mask&sameApp == 0 {
		b = appendName(b, a.App)
	}
	if mask&sameAmounts == 0 {
		b = appendAmounts(b, a.Amounts)
	}
	if mask&sameCreated == 0 {
		b = binary.AppendVarint(b, int64(a.Created)-int64(last.Created))
	}
	if mask&sameRest == 0 {
		b = append(binary.AppendVarint(b, int64(a.Priority)), flagsOf(a), byte(a.Policy))
	}
	if mask&sameClasses == 0 {
		b = appendName(appendName(b, p.class), p.named)
	}
	if mask&sameTagNames == 0 {
		b = d.appendNames(append(b, kind), group, node, tags)
	} else {
		b = d.appendChanges(b, changed)
	}
	if p.with == withNode {
		b = appendSuffix(b, string(d.reported), string(p.node))
		d.reported = p.node
	}
	d.ask, d.class, d.named, d.kind, d.group, d.node = *a, p.class, p.named, kind, group, node
	d.ask.Details = nil
	return b
}

// detailsOf are the details of an ask.
func detailsOf(a *objects.Ask) (kind byte, group string, node objects.NodeID, tags map[string]string) {
	d := a.Details
	switch {
	case d == nil:
		return noDetails, "", "", nil
	case d.Tags == nil:
		return noTags, d.TaskGroup, d.RequiredNode, nil
	}
	return hasTags, d.TaskGroup, d.RequiredNode, d.Tags
}

func flagsOf(a *objects.Ask) (flags byte) {
	if a.Placeholder {
		flags |= 1
	}
	if a.Originator {
		flags |= 2
	}
	return flags
}

// take takes the values of tags, if they have the names of the tags before, and says which have changed: a bit for
// each. If not, appendNames must follow.
func (d *askDelta) take(tags map[string]string) (changed uint64, same bool) {
	if len(tags) != len(d.names) {
		return 0, false
	}
	for i, name := range d.names {
		v, has := tags[name]
		if !has {
			return 0, false
		}
		if v != d.values[i] {
			changed |= 1 << i
			d.values[i] = v
		}
	}
	return changed, true
}

// appendNames appends tags in the order of names.
func (d *askDelta) appendNames(b []byte, group string, node objects.NodeID, tags map[string]string) []byte {
	d.names, d.values = d.names[:0], d.values[:0]
	for name := range tags {
		d.names = append(d.names, name)
	}
	slices.Sort(d.names)
	b = binary.AppendUvarint(appendName(appendName(b, group), node), uint64(len(d.names)))
	for _, name := range d.names {
		d.values = append(d.values, tags[name])
		b = appendName(appendName(b, name), tags[name])
	}
	return b
}

// appendChanges appends which values of tags have changed, and these.
func (d *askDelta) appendChanges(b []byte, changed uint64) []byte {
	b = binary.AppendUvarint(b, changed)
	for ; changed != 0; changed &= changed - 1 {
		b = appendName(b, d.values[bits.TrailingZeros64(changed)])
	}
	return b
}

// appendSuffix appends how many bytes a text has in common with the one before, and the rest.
func appendSuffix(b []byte, before, text string) []byte {
	n := commonPrefix(before, text)
	return appendName(binary.AppendUvarint(b, uint64(n)), text[n:])
}

// commonPrefix is how many bytes at the beginning of two texts are equal. It compares eight at once.
func commonPrefix(before, text string) (n int) {
	a, b := []byte(before), []byte(text) // nothing is copied, as nothing is written
	for m := min(len(a), len(b)) - 8; n <= m; n += 8 {
		if different := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); different != 0 {
			return n + bits.TrailingZeros64(different)/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// readAsk reads what appendAsk has appended.
func (d *askDelta) readAsk(c *cursor) (scheduler.Command, error) {
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
		return scheduler.SubmitAskWithClass{Ask: &a, Class: d.class, NamedClass: d.named}, c.failed
	case withNode:
		d.reported = objects.NodeID(c.suffix(string(d.reported)))
		return scheduler.ReportAllocation{Ask: &a, Node: d.reported, Class: d.class}, c.failed
	}
	return scheduler.SubmitAsk{Ask: &a}, c.failed
}

func (d *askDelta) readNames(c *cursor) {
	d.kind, d.group, d.node = c.byte(), c.text(), objects.NodeID(c.text())
	n := c.unsigned()
	d.names, d.values = d.names[:0], d.values[:0]
	if n > maxDeltaTags || d.kind > hasTags {
		c.failed = errTorn
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

// appendRelease appends a release as the difference to the one before.
func (d *askDelta) appendRelease(b []byte, m scheduler.Release) []byte {
	last, mask := &d.release, byte(0)
	if m.App == last.App {
		mask |= sameReleaseApp
	}
	if m.Type == last.Type && m.Scope == last.Scope {
		mask |= sameType
	}
	b = appendSuffix(append(b, mask), string(last.Key), string(m.Key))
	if mask&sameReleaseApp == 0 {
		b = appendName(b, m.App)
	}
	if mask&sameType == 0 {
		b = append(binary.AppendVarint(b, int64(m.Type)), byte(m.Scope))
	}
	*last = m
	return b
}

// readRelease reads what appendRelease has appended.
func (d *askDelta) readRelease(c *cursor) (scheduler.Command, error) {
	m, mask := d.release, c.byte()
	m.Key = objects.AllocationKey(c.suffix(string(m.Key)))
	if mask&sameReleaseApp == 0 {
		m.App = objects.AppID(c.text())
	}
	if mask&sameType == 0 {
		m.Type, m.Scope = scheduler.Termination(c.signed()), scheduler.ReleaseScope(c.byte())
	}
	d.release = m
	return m, c.failed
}

// amounts reads what appendAmounts has appended.
func (c *cursor) amounts() resources.Amounts {
	n := c.unsigned()
	if n > uint64(len(c.b)) {
		c.failed = errTorn
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
