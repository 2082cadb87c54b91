package webservice

import (
	"bytes"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The tree of queues is encoded queue by queue, and a subtree that is the same in the next snapshot
// is not looked at again. Only headrooms are filled in for each answer: with any allocation all of
// them may change.

// queueTree is the tree of queues at the time of a snapshot.
type queueTree struct {
	root *encodedQueue
}

// encodedQueue is a queue and its text, with gaps for the headroom and for the children.
type encodedQueue struct {
	view           *scheduler.QueueView
	text           []byte
	headroomOffset int // where the field of the headroom begins
	childrenOffset int // where the list of children is; -1: there are none
	runningApps    uint64
	children       []*encodedQueue
	size           int64 // bytes of its text and of those below
}

// encodeTree makes the tree of a snapshot. What it shares with the last one is not made again; nil:
// there is none.
func encodeTree(snap *scheduler.Snapshot, last *queueTree) *queueTree {
	slot := cpushare.Readers.Acquire()
	defer slot.Release()
	var before *encodedQueue
	if last != nil {
		before = last.root
	}
	root := encodeQueue(newEncoderWithSlot(slot), snap.Root, before, snap.Partition)
	return &queueTree{root}
}

// bytes are those of the texts of a tree; nil has none.
func (t *queueTree) bytes() int64 {
	if t == nil {
		return 0
	}
	return t.root.size
}

// The marks of the gaps. No queue has a resource of that name.
var (
	headroomPlaceholder     = quantities{"?": 0}
	headroomPlaceholderText = []byte(`"headroom":{"?":0},`)
	zeroQueue               = newEncoder().piece(queueBody{})
)

// encodeQueue makes the text of q and those below it. before is what it was, nil: it was not there.
// partition is shown by the top queue only.
func encodeQueue(e *encoder, q *scheduler.QueueView, before *encodedQueue, partition string) *encodedQueue {
	if before != nil && before.view == q {
		return before
	}
	x := &encodedQueue{view: q, childrenOffset: -1, children: make([]*encodedQueue, 0, q.Children.Len())}
	v := viewQueue(q, resources.Limit{})
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
		v.addChild(string(child.Path), c.runningApps)
	}
	if x.runningApps = v.RunningApps; len(x.children) > 0 {
		v.Children = []queueBody{{}}
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
		t.root.yieldPieces(resources.Limit{}, nil, newEncoder(), yield)
	}
}

// yieldPieces yields the text of x and those below it. above is the headroom of its parent, and text the
// field of that.
func (x *encodedQueue) yieldPieces(parent resources.Limit, text []byte, e *encoder, yield func([]byte) bool) bool {
	headroom := parent
	if !x.view.Max.IsUnlimited() || parent.IsUnlimited() {
		headroom = x.view.HeadroomBelow(parent)
		text = headroomField(e, headroom)
	}
	if x.childrenOffset < 0 {
		return yield(x.text[:x.headroomOffset]) && yield(text) && yield(x.text[x.headroomOffset:])
	}
	if !yield(x.text[:x.headroomOffset]) || !yield(text) || !yield(x.text[x.headroomOffset:x.childrenOffset]) {
		return false
	}
	between := []byte("[")
	for _, c := range x.children {
		if !yield(between) || !c.yieldPieces(headroom, text, e, yield) {
			return false
		}
		between = []byte(",")
	}
	return yield([]byte("]")) && yield(x.text[x.childrenOffset:])
}

// headroomField is the field of a headroom; an empty one is left out.
func headroomField(e *encoder, headroom resources.Limit) []byte {
	all := quantitiesOf(headroom.All())
	if len(all) == 0 {
		return nil
	}
	text := append([]byte(`"headroom":`), e.piece(all)...)
	return append(text, ',')
}
