// Package validation has the rules that a configuration must keep, and the problems of one that does not.
//
// A draft is a configuration as decoded, with the position of each value; it may be invalid. A
// Report collects problems, each with its position, path and rule. Check applies the rules that compare
// several values to a draft, and Build turns a draft without errors into the typed settings of package
// configs. Package validation knows no YAML: package queuesyaml reads a text into drafts, and reports
// values that cannot be read.
//
// Invariant: a draft whose Report has no errors builds without a further check.
package validation

// Check applies all rules that compare several values of a document.
func (r *Report) Check(d *DocumentDraft) {
	r.checkPartitions(d.Partitions)
	CheckNamed(r, d.Classes)
	CheckNamed(r, d.Budgets)
	r.checkClassQuotas(d.Partitions, d.Classes, d.HasClasses)
	r.checkHasPartition(d)
}

// checkPartitions applies the rules that compare several values of the partitions.
func (r *Report) checkPartitions(partitions []*PartitionDraft) {
	r.checkPartitionNames(partitions)
	r.checkDefaultPartition(partitions)
	for _, p := range partitions {
		r.checkPartitionLimits(p)
		r.checkQueues(p.Root)
		r.checkGuarantees(p.Root)
		r.checkPlacement(p)
		r.checkOffsets(p.Root)
		r.checkSubmitters(p)
		r.checkResourceNames(p)
	}
}

// checkQueues applies the rules about q and the queues below it.
func (r *Report) checkQueues(q *QueueDraft) {
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
