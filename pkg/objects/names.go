package objects

import "strings"

// Each kind of name has its own type, so that a node cannot be passed for a queue. Names are
// compared byte for byte; queue paths are in lower case.
type (
	QueuePath     string // root, root.a, root.a.b
	AppID         string
	AllocationKey string // of an ask or an allocation, unique in a partition
	NodeID        string
)

// RootPath is the path of the root queue.
const RootPath QueuePath = "root"

// Child is the path of the queue called name below p.
func (p QueuePath) Child(name string) QueuePath { return p + "." + QueuePath(name) }

// Parts are the names of the queues along p, root first.
func (p QueuePath) Parts() []string { return strings.Split(string(p), ".") }
