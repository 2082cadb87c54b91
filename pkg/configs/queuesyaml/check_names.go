package queuesyaml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkHasPartition refuses a document without partitions (CFG-7). It is silent if the document
// has another error, which may be the cause.
func (r *report) checkHasPartition(d *documentDraft) {
	if len(d.partitions) > 0 || r.counts[Error] > 0 {
		return
	}
	message := "the document has no partition"
	if d.empty {
		message = "the document is empty"
	}
	r.add(nil, position{}, "no-partition", message, "the smallest one is partitions: [{queues: [{name: root, submitacl: '*'}]}]")
}

// checkPartitionNames applies V1 (CFG-26).
func (r *report) checkPartitionNames(partitions []*partitionDraft) {
	seen := map[string]bool{}
	for _, p := range partitions {
		name := strings.ToLower(p.name)
		if seen[name] {
			r.add(p, p.position, "V1", "there is another partition "+quote(name), "names must differ by more than case")
		}
		seen[name] = true
	}
}

// checkChildNames applies V6 (CFG-37). Names are lower case here already.
func (r *report) checkChildNames(q *queueDraft) {
	seen := make(map[string]bool, len(q.children))
	for _, c := range q.children {
		if seen[c.name] && c.name != "" {
			r.add(c, c.position, "V6", fmt.Sprintf("%s has another child %s", q.path(), quote(c.name)),
				"names must differ by more than case")
		}
		seen[c.name] = true
	}
}

// checkResourceNames bounds the number of different resources that a partition names (CFG-16).
func (r *report) checkResourceNames(p *partitionDraft) {
	seen := map[string]bool{}
	r.collectResourceNames(p, seen, p.weights)
	r.collectQueueResources(p.root, seen)
}

func (r *report) collectQueueResources(q *queueDraft, seen map[string]bool) {
	all := []*quantities{&q.max, &q.guaranteed}
	if t := q.childTemplate; t != nil {
		all = append(all, &t.max, &t.guaranteed)
	}
	for _, l := range q.limits {
		all = append(all, &l.max)
	}
	for _, d := range q.classQuotas {
		all = append(all, &d.hard)
	}
	for _, x := range all {
		var words []token
		for _, name := range sortedKeys(x.n) {
			words = append(words, token{x.positions[name], name})
		}
		r.collectResourceNames(q, seen, words)
	}
	for _, c := range q.children {
		r.collectQueueResources(c, seen)
	}
}

func (r *report) collectResourceNames(o subject, seen map[string]bool, words []token) {
	for _, w := range words {
		if seen[w.text] || len(seen) > resources.MaxNames { // the excess is reported already
			continue
		}
		seen[w.text] = true
		if len(seen) == resources.MaxNames+1 {
			r.add(o, w.position, "bound-resources", fmt.Sprintf("the partition names more than %d different resources",
				resources.MaxNames), "")
		}
	}
}

// checkDefaultPartition warns if the name of a partition is nearly default and no partition has that
// name. Nodes, applications and asks without a partition are those of the partition default, so a
// misspelt name rejects all of them (CFG-129). Two edits are near: most mistakes swap two letters.
func (r *report) checkDefaultPartition(partitions []*partitionDraft) {
	var misspelt *partitionDraft
	for _, p := range partitions {
		switch {
		case p.name == configs.DefaultPartition:
			return
		case misspelt == nil && editDistance(normalizeWord(p.name), configs.DefaultPartition) <= 2:
			misspelt = p
		}
	}
	if misspelt != nil {
		r.add(misspelt, misspelt.position, "partition-default",
			fmt.Sprintf("no partition is named %q, to which nodes, applications and asks belong that name no partition", configs.DefaultPartition),
			fmt.Sprintf("did you mean %q?", configs.DefaultPartition))
	}
}

// checkSubmitters warns of a partition without any access list, to which no application can be submitted
// (CFG-85). It is silent if a part of the document could not be read: that may be the access list.
func (r *report) checkSubmitters(p *partitionDraft) {
	misread := slices.ContainsFunc(r.problems, func(x Problem) bool { return x.Severity == Error && strings.HasPrefix(x.RuleID, "yaml-") })
	if !misread && !hasSubmitAccess(p.root) {
		r.add(p.root, p.root.position, "no-submit-access",
			"no queue has a submitacl or adminacl, so no user can submit an application",
			"submitacl: '*' on root allows every user")
	}
}

func hasSubmitAccess(q *queueDraft) bool {
	if !q.submitACL.IsEmpty() || !q.adminACL.IsEmpty() || q.aclUnknown {
		return true
	}
	for _, c := range q.children {
		if hasSubmitAccess(c) {
			return true
		}
	}
	return false
}
