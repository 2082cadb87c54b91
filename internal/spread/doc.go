// Package spread says which member of a group is to lead which partition.
//
// It owns the assignment (Next): which member each partition is placed on, and which partitions move when members come and
// go or loads differ; and what members and the coordinator share (Store). The coordinator is the member that leads the group: it
// computes the assignment and writes it, and a member is a candidate for exactly the partitions that are assigned to it. The package
// leaves that at most one member leads a partition to package election, what is stored to internal/spread/etcd, and when the
// assignment is computed to its caller. Next knows no clock, no goroutine and no store.
//
// Invariant: nothing here makes a member lead. A wrong, late or repeated assignment costs availability and never safety.
package spread
