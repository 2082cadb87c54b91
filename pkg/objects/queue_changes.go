package objects

// QueueChange is what became of a queue.
type QueueChange uint8

// The changes of queues. That the configuration has another queue is not among them: the
// generation of the configuration says it.
const (
	QueueCreated  QueueChange = iota // a dynamic queue, for an application
	QueueDraining                    // the configuration does not have it any more, and it still holds work
	QueueRestored                    // the configuration has it again before it was empty
	QueueRemoved                     // it is gone
)

func (c QueueChange) String() string {
	return [...]string{"created", "draining", "restored", "removed"}[c]
}

// ChangedQueue says what became of a queue.
type ChangedQueue struct {
	Queue   QueuePath
	Change  QueueChange
	Dynamic bool // it is, or was, not of the configuration
}

// TakeChangedQueues returns what has become of queues since it was last called, in that order.
// The list is good until the partition changes.
func (p *Partition) TakeChangedQueues() []ChangedQueue {
	out := p.queueChanges
	p.queueChanges = p.queueChanges[:0]
	return out
}

func (p *Partition) noteQueueChange(q *Queue, what QueueChange) {
	p.queueChanges = append(p.queueChanges, ChangedQueue{q.path, what, !q.managed})
}
