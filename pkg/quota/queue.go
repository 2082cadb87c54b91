package quota

// Queue is the quota side of a queue.
type Queue struct {
	parent  *Queue
	path    string
	classes *classQuotas // nil: none

	classQuotasCounted bool // in Tree.classQuotaQueues
}

// Init makes q the quota side of the queue at path, below that of its parent; nil for root.
func (q *Queue) Init(path string, parent *Queue) { q.path, q.parent = path, parent }

// Path is the path of the queue.
func (q *Queue) Path() string { return q.path }
