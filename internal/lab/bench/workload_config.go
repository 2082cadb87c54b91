package bench

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// leafPaths returns the leaves below a queue, in the order of the configuration.
func leafPaths(above objects.QueuePath, depth, fanout int, to []objects.QueuePath) []objects.QueuePath {
	if depth == 0 {
		return append(to, above)
	}
	for i := range fanout {
		to = leafPaths(above.Child(queueName(i)), depth-1, fanout, to)
	}
	return to
}

func queueName(i int) string { return "q" + padded(i, 4) }

// configText returns the queues.yaml, with a line per queue: a deep tree would be mostly indentation.
func (s *stream) configText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partitions:\n  - name: default\n    nodesortpolicy: {type: %s}\n    preemption: {enabled: %t}\n"+
		"    queues:\n      - name: root\n        submitacl: '*'\n        properties: {application.sort.policy: %s%s}\n",
		s.spec.NodeSort, s.spec.Preemptors > 0, s.spec.Sort, s.preemptProperty())
	b.WriteString("        queues: ")
	next := 0
	held := s.maxOfLeaves()
	s.writeQueues(&b, s.spec.Depth, held, &next)
	b.WriteString("\n")
	text := b.String()
	if s.preemptsByGuarantee() {
		text = strings.TrimSuffix(text, "]\n") + s.guaranteedQueue() + "]\n"
	}
	return text
}

func (s *stream) writeQueues(b *strings.Builder, depth int, held map[int]string, leaf *int) {
	b.WriteString("[")
	for i := range s.spec.Fanout {
		if i > 0 {
			b.WriteString(",\n          ")
		}
		fmt.Fprintf(b, "{name: %s", queueName(i))
		switch {
		case depth > 1:
			b.WriteString(", queues: ")
			s.writeQueues(b, depth-1, held, leaf)
		default:
			if most, bound := held[*leaf]; bound {
				fmt.Fprintf(b, ", resources: {max: %s}", most)
			}
			*leaf++
		}
		b.WriteString("}")
	}
	b.WriteString("]")
}

// maxOfLeaves returns the leaves with a max of half of what is requested there, by their number.
func (s *stream) maxOfLeaves() map[int]string {
	n := int(s.spec.Bound * float64(len(s.leaves)))
	if n == 0 {
		return nil
	}
	demand := make([]resources.Amounts, len(s.leaves))
	for i := range s.spec.Asks {
		leaf := i % (len(s.leaves) * s.spec.AppsPerLeaf) % len(s.leaves)
		demand[leaf] = demand[leaf].Add(s.amounts(i))
	}
	held := map[int]string{}
	for _, leaf := range s.rng(seedBound).Perm(len(s.leaves))[:n] {
		var parts []string
		for name, q := range demand[leaf].All() {
			parts = append(parts, fmt.Sprintf("%s: %s", name, quantityText(name, q/2)))
		}
		if len(parts) > 0 { // a leaf without asks needs no max
			held[leaf] = "{" + strings.Join(parts, ", ") + "}"
		}
	}
	return held
}

// quantityText returns a quantity in a configuration.
func quantityText(name string, q resources.Quantity) string {
	if name == resources.VCore {
		return fmt.Sprintf("%dm", max(q, 1))
	}
	return fmt.Sprint(max(q, 1))
}
