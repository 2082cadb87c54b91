package metrics

import (
	"bytes"
	"strings"
	"weak"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A large cluster has a hundred thousand values of queues, and few of them change between two scrapes: the
// text of a queue is kept until the queue changes.

// The families of which a queueText has values.
const (
	applicationValues = iota // of queueApplications
	resourceValues           // of queueResources
	queueFamilies
)

// queueText has the values of a queue, and of all queues below. It is immutable.
type queueText struct {
	view     weak.Pointer[scheduler.QueueView] // weak: between two scrapes it keeps no state of the past in memory
	path     objects.QueuePath
	children []*queueText // in path order
	text     []byte       // of the queue itself: the values of one family after those of the other
	values   [queueFamilies]struct {
		end   int // in text
		bytes int // of the queue and all queues below
	}
	totals queueTotals // over the queue and all queues below
}

// pieces yields the text of a family; false: yield did. The queues below come first.
func (x *queueText) pieces(family int, yield func([]byte) bool) bool {
	if x.values[family].bytes == 0 {
		return true
	}
	for _, child := range x.children {
		if !child.pieces(family, yield) {
			return false
		}
	}
	begin := 0
	if family > 0 {
		begin = x.values[family-1].end
	}
	text := x.text[begin:x.values[family].end]
	return len(text) == 0 || yield(text)
}

// partitionQueues are the texts of the queues of a partition in the last scrape.
type partitionQueues struct {
	root  *queueText
	ended endedCounts
}

// queueWriter writes the texts of the queues of a partition.
type queueWriter struct {
	partition string
	ended     endedCounts
	// queues with an ended count that is not in the previous text, and the queues above
	newEnded map[objects.QueuePath]bool
	slot     *cpushare.Slot // may be nil

	text           []byte // scratch, for one queue at a time
	bounded, names []string
}

// writeQueues writes the texts of the queues of a partition. Those of last that are the same are kept; it
// may be nil.
func writeQueues(partition string, root *scheduler.QueueView, ended endedCounts, last *partitionQueues,
	slot *cpushare.Slot) *partitionQueues {
	w := &queueWriter{partition: partition, ended: ended, newEnded: map[objects.QueuePath]bool{}, slot: slot}
	if last == nil {
		return &partitionQueues{w.queue(root, nil), ended}
	}
	for path, counts := range ended {
		if counts == last.ended[path] {
			continue
		}
		for above := string(path); above != "" &&
			!w.newEnded[objects.QueuePath(above)]; above = above[:max(0, strings.LastIndexByte(above, '.'))] {
			w.newEnded[objects.QueuePath(above)] = true
		}
	}
	return &partitionQueues{w.queue(root, last.root), ended}
}

// queue returns the text of q and all queues below. before is the same queue in the last scrape; nil: it was
// not in it.
func (w *queueWriter) queue(q *scheduler.QueueView, before *queueText) *queueText {
	w.slot.Yield()
	if before != nil && before.view.Value() == q && !w.newEnded[q.Path] {
		return before
	}
	x := &queueText{view: weak.Make(q), path: q.Path}
	if n := q.Children.Len(); n > 0 {
		x.children = make([]*queueText, 0, n)
	}
	at := 0
	for child := range q.Children.All() {
		var old *queueText
		if before != nil {
			for at < len(before.children) && before.children[at].path < child.Path {
				at++
			}
			if at < len(before.children) && before.children[at].path == child.Path {
				old = before.children[at]
			}
		}
		c := w.queue(child, old)
		x.children = append(x.children, c)
		x.totals.add(&c.totals)
		for family := range x.values {
			x.values[family].bytes += c.values[family].bytes
		}
	}
	x.totals.addQueue(q)
	w.text = w.text[:0]
	if q.Leaf {
		w.applications(string(q.Path), &x.totals)
	}
	x.endFamily(applicationValues, len(w.text))
	w.resources(q, &x.totals)
	x.endFamily(resourceValues, len(w.text))
	x.text = bytes.Clone(w.text)
	return x
}

func (x *queueText) endFamily(family, end int) {
	begin := 0
	if family > 0 {
		begin = x.values[family-1].end
	}
	x.values[family].end = end
	x.values[family].bytes += end - begin
}
