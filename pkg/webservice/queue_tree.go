package webservice

import (
	"bytes"
	"context"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The queue tree is encoded queue by queue, and a subtree that is unchanged in the next snapshot keeps
// its text. Only headrooms are filled in for each answer: any allocation may change all of them.

// queueTree is the encoded queue tree of a snapshot.
type queueTree struct {
	root     *encodedQueue
	snapshot *scheduler.Snapshot
}

// encodedQueue is a queue and its text, without the headroom and the children.
type encodedQueue struct {
	view           *scheduler.QueueView
	text           []byte
	headroomOffset int // position of the headroom field
	childrenOffset int // position of the list of children; -1: it has none
	runningApps    uint64
	children       []*encodedQueue
	size           int64 // bytes of its text and of all texts below
}

// encodeTree encodes the tree of a snapshot. Unchanged subtrees of last, the previous tree, are reused;
// it may be nil.
func encodeTree(ctx context.Context, snap *scheduler.Snapshot, last *queueTree) *queueTree {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	var before *encodedQueue
	if last != nil {
		before = last.root
	}
	root := encodeQueue(newEncoderWithSlot(slot), snap.Root, before, snap.Partition)
	return &queueTree{root, snap}
}

// bytes is the size of the texts of a tree; 0 for nil.
func (t *queueTree) bytes() int64 {
	if t == nil {
		return 0
	}
	return t.root.size
}

// Placeholders for the parts that are left out. No queue has a resource named "?".
var (
	headroomPlaceholder     = dao.Quantities{"?": 0}
	headroomPlaceholderText = []byte(`"headroom":{"?":0},`)
	zeroQueue               = newEncoder().piece(dao.Queue{})
)

// encodeQueue encodes q and the queues below. before is the same queue in the previous tree; nil: it
// was not in it. partition is empty except for the top queue.
func encodeQueue(e *encoder, q *scheduler.QueueView, before *encodedQueue, partition string) *encodedQueue {
	if before != nil && before.view == q {
		return before
	}
	x := &encodedQueue{view: q, childrenOffset: -1, children: make([]*encodedQueue, 0, q.Children.Len())}
	v := dao.NewQueue(q, resources.Limit{})
	v.Partition = partition
	v.Headroom = headroomPlaceholder
	at := 0
	for child := range q.Children.All() {
		var old *encodedQueue
		if before != nil {
			for at < len(before.children) && before.children[at].view.Path < child.Path {
				at++
			}
			if at < len(before.children) && before.children[at].view.Path == child.Path {
				old = before.children[at]
			}
		}
		c := encodeQueue(e, child, old, "")
		x.children = append(x.children, c)
		x.size += c.size
		v.AddChild(string(child.Path), c.runningApps)
	}
	x.runningApps = v.RunningApps
	if len(x.children) > 0 {
		v.Children = []dao.Queue{{}}
	}
	head, after, found := bytes.Cut(e.piece(v), headroomPlaceholderText)
	if !found {
		panic("webservice: queue " + string(q.Path) + " shows no headroom")
	}
	x.headroomOffset = len(head)
	if len(x.children) == 0 {
		x.text = bytes.Join([][]byte{head, after}, nil)
		x.size += int64(len(x.text))
		return x
	}
	middle, rest, found := cutAroundList(after, "children", zeroQueue)
	if !found {
		panic("webservice: queue " + string(q.Path) + " shows no children")
	}
	x.childrenOffset = len(head) + len(middle)
	x.text = bytes.Join([][]byte{head, middle, rest}, nil)
	x.size += int64(len(x.text))
	return x
}

// pieces is the JSON of the tree.
func (t *queueTree) pieces() pieces {
	return func(yield func([]byte) bool) {
		t.root.yieldPieces(resources.Limit{}, nil, yield)
	}
}

// yieldPieces yields the JSON of x and the queues below. parent is the headroom of the queue above, and
// text its headroom field.
func (x *encodedQueue) yieldPieces(parent resources.Limit, text []byte, yield func([]byte) bool) bool {
	headroom := parent
	if !x.view.Max.IsUnlimited() || parent.IsUnlimited() {
		headroom = x.view.HeadroomBelow(parent)
		t := newJSONText()
		defer t.release()
		t.optionalLimit("headroom", headroom)
		if len(t.text) > 0 {
			t.text = append(t.text, ',')
		}
		text = t.text
	}
	if x.childrenOffset < 0 {
		return yield(x.text[:x.headroomOffset]) && yield(text) && yield(x.text[x.headroomOffset:])
	}
	if !yield(x.text[:x.headroomOffset]) || !yield(text) || !yield(x.text[x.headroomOffset:x.childrenOffset]) {
		return false
	}
	between := []byte("[")
	for _, c := range x.children {
		if !yield(between) || !c.yieldPieces(headroom, text, yield) {
			return false
		}
		between = []byte(",")
	}
	return yield([]byte("]")) && yield(x.text[x.childrenOffset:])
}
