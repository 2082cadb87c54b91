package dao

// Live counts what has changed so far: numbers that grow with each change, in this process. Two equal numbers mean
// that nothing has changed in between.
type Live struct {
	Instance   string                   `json:"instance"`   // of the event history: another one is another process
	Generation uint64                   `json:"generation"` // of the configuration in force
	Events     uint64                   `json:"events"`     // records since the start of the process
	Partitions map[string]LivePartition `json:"partitions"`
}

// LivePartition is Live for one partition.
type LivePartition struct {
	Queues       uint64 `json:"queues"` // of queues with their applications, asks and allocations
	Applications uint64 `json:"applications"`
	Nodes        uint64 `json:"nodes"`
}
