package dao

import "time"

// PartitionRules are the placement rules of a partition in the state dump.
type PartitionRules struct {
	Partition string          `json:"partition"`
	Rules     []PlacementRule `json:"rules"`
}

// EventStream is an open event stream in the state dump, with the keys of YuniKorn.
type EventStream struct {
	Name      string    `json:"Name"` // the address of its client
	CreatedAt time.Time `json:"CreatedAt"`
}
