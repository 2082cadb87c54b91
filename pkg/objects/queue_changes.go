package objects

// QueueChange is the kind of a change of a queue (QUE-40).
type QueueChange uint8

// The changes of queues. A managed queue that a configuration adds is none of them: the generation
// of the configuration has it.
const (
	QueueCreated  QueueChange = iota // a dynamic queue, for an application
	QueueDraining                    // a managed queue was removed from the configuration and has applications
	QueueRestored                    // a draining queue is in the configuration again
	QueueRemoved                     // a queue was removed from the partition
)

func (c QueueChange) String() string {
	return [...]string{"created", "draining", "restored", "removed"}[c]
}

// ChangedQueue is a change of a queue.
type ChangedQueue struct {
	Queue   QueuePath
	Change  QueueChange
	Dynamic bool // the queue is not in the configuration
}
