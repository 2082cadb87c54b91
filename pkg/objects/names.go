package objects

import "strings"

// Each kind of name has its own type, so a node cannot be passed for a queue. All are
// compared byte for byte; queue paths are lower case.
type (
	QueuePath     string // root, root.a, root.a.b
	AppID         string
	AllocationKey string // of an ask or an allocation, one name space per partition
	NodeID        string
)

// RootPath is the path of the root queue.
const RootPath QueuePath = "root"

// Child is the path of the queue called name below p.
func (p QueuePath) Child(name string) QueuePath { return p + "." + QueuePath(name) }

// Parts are the names of the queues along p, root first.
func (p QueuePath) Parts() []string { return strings.Split(string(p), ".") }
