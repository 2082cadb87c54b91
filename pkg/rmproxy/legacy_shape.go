package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
)

// requestShapes are the shapes of the messages of an RM, by kind of stream. They have the fields of the interface
// 1.9 and those that 1.0 to 1.5 have besides, so that elements and memory of both are bounded before a message is
// decoded (RMI-37, RMI-38). In the same field as later versions have the priority of an ask as a number, 1.0 has a
// message, which takes more memory.
var requestShapes = func() (shapes [streamKinds]*wire.Shape) {
	type like = map[int]int // by number of a field, the field that is like it
	allocation := shapeOf(&si.Allocation{})
	priority := wire.NewShape(2).AddLike(allocation, like{2: 1})
	allocation.AddLike(allocation, like{3: 1, 7: 1, 13: 1}).AddMessage(6, priority, false)
	ask := wire.NewShape(12).AddLike(allocation, like{1: 1, 2: 9, 3: 10, 4: 5, 6: 6, 8: 2, 9: 11, 12: 15})
	askRelease := wire.NewShape(5).AddLike(allocation, like{1: 1, 2: 1, 3: 1, 5: 1})
	release := shapeOf(&si.AllocationRelease{}).AddLike(allocation, like{3: 1, 7: 1})
	releases := wire.NewShape(2).AddMessage(1, release, true).AddMessage(2, askRelease, true)
	node := shapeOf(&si.NodeInfo{}).AddLike(allocation, like{5: 5}).AddMessage(6, allocation, true)

	shapes[nodeStream] = shapeOf(&si.NodeRequest{}).AddMessage(1, node, true)
	shapes[applicationStream] = shapeOf(&si.ApplicationRequest{})
	shapes[allocationStream] = shapeOf(&si.AllocationRequest{}).
		AddMessage(1, ask, true).AddMessage(2, releases, false).AddMessage(4, allocation, true)
	return shapes
}()
