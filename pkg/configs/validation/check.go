// Package validation has the rules that a configuration must keep, and the problems of one that does not.
//
// A Tree is a configuration as read, which may be invalid, with the positions of its values in Sources. A
// Report collects problems, each with its position, path and rule. Check applies the rules that compare
// several values to a tree, and Finish resolves what queues inherit in one without errors. Package queuesyaml reads a
// text into a tree, and reports values that cannot be read.
//
// Invariant: a tree whose Report has no errors is finished without a further check.
package validation

// Check applies all rules that compare several values of a document.
func (r *Report) Check(t *Tree) {
	r.checkPartitions(t.Partitions)
	CheckNamed(r, t.Classes)
	CheckNamed(r, t.Budgets)
	r.checkClassQuotas(t)
	r.checkHasPartition(t)
}

// checkPartitions applies the rules that compare several values of the partitions.
func (r *Report) checkPartitions(partitions []*Partition) {
	r.checkPartitionNames(partitions)
	r.checkDefaultPartition(partitions)
	for _, p := range partitions {
		r.checkPartitionLimits(p)
		r.checkQueues(p.Root)
		r.checkGuarantees(p.Root)
		r.checkPlacement(p)
		r.checkOffsets(p.Root)
		r.checkSubmitters(p)
		r.checkBackfill(p)
	}
}

// checkQueues applies the rules about q and the queues below it.
func (r *Report) checkQueues(q *Queue) {
	r.checkChildNames(q)
	r.checkMaxApplications(q)
	r.checkLimits(q, q.Limits)
	r.checkInheritedLimits(q)
	r.checkQueueProperties(q)
	r.checkTemplate(q)
	for _, c := range q.Children {
		r.checkQueues(c)
	}
}
