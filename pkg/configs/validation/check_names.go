package validation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// checkHasPartition refuses a document without partitions (CFG-7). It is silent if the document
// has another error, which may be the cause.
func (r *Report) checkHasPartition(t *Tree) {
	if len(t.Partitions) > 0 || r.counts[Error] > 0 {
		return
	}
	message := "the document has no partition"
	if t.Empty {
		message = "the document is empty"
	}
	r.Add(nil, Position{}, "no-partition", message,
		"the smallest one is partitions: [{queues: [{name: root, submitacl: '*'}]}]")
}

// checkPartitionNames applies V1 (CFG-26).
func (r *Report) checkPartitionNames(partitions []*Partition) {
	seen := map[string]bool{}
	for _, p := range partitions {
		name := strings.ToLower(p.Name)
		if seen[name] {
			r.Add(p.Subject, r.At(p.Partition), "V1", "there is another partition "+Quote(name),
				"names must differ by more than case")
		}
		seen[name] = true
	}
}

// checkChildNames applies V6 (CFG-37), and warns of a configured recovery queue (CFG-136). Names are lower case here
// already.
func (r *Report) checkChildNames(q *Queue) {
	seen := make(map[string]bool, len(q.Children))
	for _, c := range q.Children {
		if seen[c.Name] && c.Name != "" {
			r.Add(c.Subject, r.At(c.Queue), "V6", fmt.Sprintf("%s has another child %s", q.path(), Quote(c.Name)),
				"names must differ by more than case")
		}
		seen[c.Name] = true
		if q.Above == nil && c.Name == placement.RecoveryQueueName {
			r.Add(c.Subject, r.At(c.Queue), "recovery-queue",
				"the recovery queue is for recovered applications that no other queue takes (PLC-28): "+
					"no rule places an application there, and a max does not keep what runs from counting there",
				"leave it out: it is created when it is needed")
		}
	}
}

// checkDefaultPartition warns if the name of a partition is nearly default and no partition has that
// name. Nodes, applications and asks without a partition are those of the partition default, so a
// misspelt name rejects all of them (CFG-129). Two edits are near: most mistakes swap two letters.
func (r *Report) checkDefaultPartition(partitions []*Partition) {
	var misspelt *Partition
	for _, p := range partitions {
		switch {
		case p.Name == configs.DefaultPartition:
			return
		case misspelt == nil && editDistance(normalizeWord(p.Name), configs.DefaultPartition) <= 2:
			misspelt = p
		}
	}
	if misspelt != nil {
		r.Add(misspelt.Subject, r.At(misspelt.Partition), "partition-default",
			fmt.Sprintf("no partition is named %q, to which nodes, applications and asks belong that name no partition",
				configs.DefaultPartition),
			fmt.Sprintf("did you mean %q?", configs.DefaultPartition))
	}
}

// checkSubmitters warns of a partition without any access list, to which no application can be submitted
// (CFG-85). It is silent if a part of the document could not be read: that may be the access list.
func (r *Report) checkSubmitters(p *Partition) {
	misread := slices.ContainsFunc(r.Problems,
		func(x Problem) bool { return x.Severity == Error && strings.HasPrefix(x.RuleID, "yaml-") })
	if !misread && !r.hasSubmitAccess(p.Root) {
		r.Add(p.Root.Subject, r.At(p.Root.Queue), "no-submit-access",
			"no queue has a submitacl or adminacl, so no user can submit an application",
			"submitacl: '*' on root allows every user")
	}
}

func (r *Report) hasSubmitAccess(q *Queue) bool {
	return !q.SubmitACL.IsEmpty() || !q.AdminACL.IsEmpty() || r.IsMisread(&q.SubmitACL) ||
		slices.ContainsFunc(q.Children, r.hasSubmitAccess)
}
