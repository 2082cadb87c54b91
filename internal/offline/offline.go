// Package offline answers questions about a configuration without a server: where an
// application would go, what would hold for a queue, who would be next. It builds the
// partition that a server would build and asks that; it decides nothing itself. Reading
// questions from files is its business too, printing answers is the commands'.
//
// The rule that must hold: no question sees what another one left, so their order never
// shows in the answers.
package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Partition is one partition of a configuration, without applications, and without nodes but
// those that a question states.
type Partition struct {
	conf           configs.Partition
	formatQuantity func(resource string, n resources.Quantity) string // as the document writes it
	partition      *objects.Partition
	cluster        *resources.Amounts // of the one node that there is; nil: there is none
}

// New builds the partition of that name, in any case. The error lists those there are.
func New(conf *configs.Config, partition string) (*Partition, error) {
	var names []string
	for _, p := range conf.Partitions {
		if strings.EqualFold(p.Name, partition) {
			return &Partition{conf: p, formatQuantity: conf.FormatQuantity, partition: objects.NewPartition(withoutClassQuotas(p))}, nil
		}
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no partition %q: the configuration has no partitions", partition)
	}
	return nil, fmt.Errorf("there is no partition %q: the configuration has %s", partition, strings.Join(names, ", "))
}

// withoutClassQuotas is a partition that takes in any ask: whether there is room is no question
// here, and work that is put into queues has no class.
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

// fixedTime is when everything offline happens. Nothing that is asked depends on it.
var fixedTime = time.Unix(0, 0).UTC()

// limitMap is a limit for JSON: nil when nothing is limited, so that the key is left out.
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

// FormatQuantities writes quantities as people read them, by the names of the resources: "memory
// 16Gi, 1 pod, vcore 500m".
func FormatQuantities(m map[string]resources.Quantity) string {
	return joinQuantities(m, resources.FormatNamedQuantity)
}

// FormatQuantities writes quantities as the function of that name does, in the spelling of the
// configuration where it has the same amounts.
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
