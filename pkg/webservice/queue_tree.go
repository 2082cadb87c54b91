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
	root *queueText
}

// queueText is a queue and its text, with gaps for the headroom and for the children.
type queueText struct {
	view     *scheduler.QueueView
	text     []byte
	headroom int // where the field of the headroom begins
	below    int // where the list of children is; -1: there are none
	running  uint64
	children []*queueText
	size     int64 // bytes of its text and of those below
}

// encodeTree makes the tree of a snapshot. What it shares with the last one is not made again; nil:
// there is none.
func encodeTree(snap *scheduler.Snapshot, last *queueTree) *queueTree {
	turn := cpushare.Readers.Enter()
	defer turn.Leave()
	var before *queueText
	if last != nil {
		before = last.root
	}
	root := encodeQueue(newEncoderIn(turn), snap.Root, before, snap.Partition)
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
	headroomMark = quantities{"?": 0}
	headroomText = []byte(`"headroom":{"?":0},`)
	zeroQueue    = newEncoder().piece(queueBody{})
)

// encodeQueue makes the text of q and those below it. before is what it was, nil: it was not there.
// partition is shown by the top queue only.
func encodeQueue(e *encoder, q *scheduler.QueueView, before *queueText, partition string) *queueText {
	if before != nil && before.view == q {
		return before
	}
	x := &queueText{view: q, below: -1, children: make([]*queueText, 0, q.Children.Len())}
	v := viewQueue(q, resources.Limit{})
	v.Partition = partition
	v.Headroom = headroomMark
	at := 0
	for child := range q.Children.All() {
		var old *queueText
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
		v.add(string(child.Path), c.running)
	}
	if x.running = v.RunningApps; len(x.children) > 0 {
		v.Children = []queueBody{{}}
	}
	head, after, found := bytes.Cut(e.piece(v), headroomText)
	if !found {
		panic("webservice: queue " + string(q.Path) + " shows no headroom")
	}
	x.headroom = len(head)
	if len(x.children) == 0 {
		x.text = bytes.Join([][]byte{head, after}, nil)
		x.size += int64(len(x.text))
		return x
	}
	middle, rest, found := around(after, "children", zeroQueue)
	if !found {
		panic("webservice: queue " + string(q.Path) + " shows no children")
	}
	x.below = len(head) + len(middle)
	x.text = bytes.Join([][]byte{head, middle, rest}, nil)
	x.size += int64(len(x.text))
	return x
}

// all is the JSON of the tree.
func (t *queueTree) all() pieces {
	return func(yield func([]byte) bool) {
		t.root.each(resources.Limit{}, nil, newEncoder(), yield)
	}
}

// each yields the text of x and those below it. above is the headroom of its parent, and text the
// field of that.
func (x *queueText) each(above resources.Limit, text []byte, e *encoder, yield func([]byte) bool) bool {
	headroom := above
	if !x.view.Max.IsUnlimited() || above.IsUnlimited() {
		headroom = x.view.HeadroomBelow(above)
		text = headroomField(e, headroom)
	}
	if x.below < 0 {
		return yield(x.text[:x.headroom]) && yield(text) && yield(x.text[x.headroom:])
	}
	if !yield(x.text[:x.headroom]) || !yield(text) || !yield(x.text[x.headroom:x.below]) {
		return false
	}
	between := []byte("[")
	for _, c := range x.children {
		if !yield(between) || !c.each(headroom, text, e, yield) {
			return false
		}
		between = []byte(",")
	}
	return yield([]byte("]")) && yield(x.text[x.below:])
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
