// Package offline answers questions about a configuration without a server: where an
// application would be placed, which quotas and limits would be effective, and how queues
// would be sorted. It builds the partition that a server would build, and evaluates the
// question with the code of the scheduler. It reads assertions from files; the commands print
// the results.
//
// Invariant: a question leaves no state behind, so the order of questions does not affect the
// results.
package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/clusterquota"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Partition is one partition of a configuration, without applications and with at most one
// node, for the cluster that a question states.
type Partition struct {
	conf           configs.Partition
	formatQuantity func(resource string, n resources.Quantity) string // in the spelling of the document
	partition      *objects.Partition
	quotas         *clusterquota.Quotas // of the partition
	cluster        *resources.Amounts   // capacity of the node; nil: there is no node
}

// New builds the partition of that name, in any case. If there is none, the error lists the partitions.
func New(conf *configs.Config, partition string) (*Partition, error) {
	var names []string
	for _, p := range conf.Partitions {
		if strings.EqualFold(p.Name, partition) {
			partition := objects.NewPartition(withoutClassQuotas(p))
			return &Partition{conf: p, formatQuantity: conf.FormatQuantity, partition: partition,
				quotas: clusterquota.New(partition)}, nil
		}
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no partition %q: the configuration has no partitions", partition)
	}
	return nil, fmt.Errorf("there is no partition %q: the configuration has %s", partition, strings.Join(names, ", "))
}

// withoutClassQuotas is a partition without class quotas, which accepts any ask: assertions do not ask
// for headroom, and the asks of a Workload have no priority class.
func withoutClassQuotas(p configs.Partition) configs.Partition {
	var strip func(q configs.Queue) configs.Queue
	strip = func(q configs.Queue) configs.Queue {
		q.ClassQuotas, q.Children = nil, slices.Clone(q.Children)
		for i := range q.Children {
			q.Children[i] = strip(q.Children[i])
		}
		return q
	}
	p.ClassesNeedingQuota, p.Root = nil, strip(p.Root)
	return p
}

// fixedTime is the time of all changes. No result depends on it.
var fixedTime = time.Unix(0, 0).UTC()

// limitMap is a limit for JSON: nil if nothing is limited, so that the key is omitted.
func limitMap(l resources.Limit) map[string]resources.Quantity {
	if l.IsUnlimited() {
		return nil
	}
	return l.Map()
}

func guaranteeMap(g resources.Guarantee) map[string]resources.Quantity {
	if g.IsEmpty() {
		return nil
	}
	return g.Map()
}

// FormatQuantities formats quantities in the order of the resource names: "memory 16Gi, 1 pod, vcore
// 500m".
func FormatQuantities(m map[string]resources.Quantity) string {
	return joinQuantities(m, resources.FormatNamedQuantity)
}

// FormatQuantities is like the function FormatQuantities, with the spelling of the configuration for
// amounts that it has (CFG-44).
func (p *Partition) FormatQuantities(m map[string]resources.Quantity) string {
	return joinQuantities(m, func(name string, n resources.Quantity) string {
		if text := p.formatQuantity(name, n); text != resources.FormatQuantity(name, n) {
			return name + " " + text
		}
		return resources.FormatNamedQuantity(name, n)
	})
}

func joinQuantities(m map[string]resources.Quantity, phrase func(name string, n resources.Quantity) string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, phrase(name, m[name]))
	}
	return strings.Join(parts, ", ")
}
