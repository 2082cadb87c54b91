package configs

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
)

// PartitionSetting describes a key of a section of a partition, such as preemption: reading, schema and difference
// derive from it (CFG-23).
type PartitionSetting struct {
	Section, Key string
	Sentence     string   // what it sets
	Examples     []string // of a duration
	Words        []string // the legal values of a WordSetting
	// Field returns the field of a partition: a *bool, a *time.Duration, an *int, a WordSetting or a *[]policies.Weight.
	Field func(*Partition) any
	// Least and Most bound a number. Least of a duration is 0 or, if it must be above zero, 1; Most is not used.
	Least, Most int
}

// WordSetting is a field whose values are words. String returns its own, and Choose sets the one of an index.
type WordSetting interface {
	fmt.Stringer
	Choose(word int)
}

// PartitionSettings are the settings of partitions, in the order in which they are documented. The caller must not
// change them.
func PartitionSettings() []PartitionSetting { return partitionSettings }

var partitionSettings = []PartitionSetting{
	{Section: "preemption", Key: "enabled", Field: func(p *Partition) any { return &p.PreemptionEnabled },
		Sentence: "Preempt for queues below their guarantee."},
	{Section: "preemption", Key: "quotapreemptionenabled",
		Field:    func(p *Partition) any { return &p.QuotaPreemptionEnabled },
		Sentence: "Preempt in queues that are over a max that was lowered."},
	{Section: "preemption", Key: "nodepressureenabled",
		Field:    func(p *Partition) any { return &p.NodePressureEnabled },
		Sentence: "Preempt allocations of a node whose capacity was lowered below what they use."},
	{Section: "preemption", Key: "nodepressuregrace", Field: func(p *Partition) any { return &p.NodePressureGrace },
		Examples: []string{"60s", "0s"},
		Sentence: "With nodepressureenabled, how long a node must lack capacity before its allocations are " +
			"preempted. 0s: at once."},
	{Section: "preemption", Key: "nominationtimeout", Field: func(p *Partition) any { return &p.NominationTimeout },
		Examples: []string{"5m", "0s"},
		Sentence: "How long an ask stays nominated for a node whose victims have not been released yet. 0s: for " +
			"ever."},
	{Section: "preemption", Key: "churnbreakerenabled",
		Field: func(p *Partition) any { return &p.Churn.CircuitBreaker },
		Sentence: "Circuit breaker: leaf queues in a preemption cycle do not preempt each other during the " +
			"cool-down."},
	{Section: "preemption", Key: "churncycles", Field: func(p *Partition) any { return &p.Churn.Cycles },
		Most:     MaxChurnCycles,
		Sentence: "How many preemption cycles within the window trip the breaker. 0: cycles are not detected."},
	{Section: "preemption", Key: "churnwindow", Field: func(p *Partition) any { return &p.Churn.Window }, Least: 1,
		Examples: []string{"30m"}, Sentence: "The time window in which preemption cycles are counted."},
	{Section: "preemption", Key: "churncooldown", Field: func(p *Partition) any { return &p.Churn.CoolDown }, Least: 1,
		Examples: []string{"5m"}, Sentence: "How long the cool-down lasts."},

	{Section: "reservation", Key: "enabled", Field: func(p *Partition) any { return &p.Reservation.Enabled },
		Sentence: "Whether asks that fit no node reserve one."},
	{Section: "reservation", Key: "delay", Field: func(p *Partition) any { return &p.Reservation.Delay },
		Examples: []string{"2s", "0s"},
		Sentence: "How old an ask is that reserves a node. An ask that requires one node does not wait."},
	{Section: "reservation", Key: "timeout", Field: func(p *Partition) any { return &p.Reservation.Timeout }, Least: 1,
		Examples: []string{"60m"}, Sentence: "How long a reservation lasts."},
	{Section: "reservation", Key: "nodepercent", Field: func(p *Partition) any { return &p.Reservation.NodePercent },
		Least: 1, Most: 100, Sentence: "How many percent of the nodes may be reserved; one may always be."},
	{Section: "reservation", Key: "backfill", Field: func(p *Partition) any { return &p.Reservation.Backfill },
		Words: backfillWords,
		Sentence: "Whether asks whose enforced run time ends before a reservation can be used may use what it holds: " +
			"off, or bounded."},
	{Section: "reservation", Key: "backfillasks", Field: func(p *Partition) any { return &p.Reservation.BackfillAsks },
		Least: 1, Most: 10000, Sentence: "With backfill, how many waiting asks are looked at to find one."},
	{Section: "reservation", Key: "backfillnodes",
		Field: func(p *Partition) any { return &p.Reservation.BackfillNodes },
		Least: 1, Most: 10000, Sentence: "With backfill, how many reserved nodes are looked at."},

	{Section: "fairness", Key: "weights", Field: func(p *Partition) any { return &p.FairnessWeights },
		Sentence: "What the use of each resource counts for in usage over time. Without it the dominant share counts."},

	{Section: "noderefusal", Key: "backoff", Field: func(p *Partition) any { return &p.NodeRefusal.Backoff },
		Examples: []string{"10s", "0s"},
		Sentence: "How long an ask is kept from a node that has refused it for the first time. 0s: refusals have " +
			"no effect."},
	{Section: "noderefusal", Key: "maxbackoff", Field: func(p *Partition) any { return &p.NodeRefusal.MaxBackoff },
		Examples: []string{"5m"},
		Sentence: "Each further back-off is twice as long, up to this; at most 24h, and at least backoff."},
	{Section: "noderefusal", Key: "asks", Field: func(p *Partition) any { return &p.NodeRefusal.Asks }, Least: 1,
		Most: refusals.MaxAsks,
		Sentence: "After a node has refused so many different asks of equal requests and constraints, it gets none " +
			"of them."},
}

// Text returns the value of a partition.
func (s *PartitionSetting) Text(p *Partition) string {
	switch v := s.Field(p).(type) {
	case *bool:
		return fmt.Sprint(*v)
	case *time.Duration:
		return v.String()
	case *int:
		return fmt.Sprint(*v)
	case WordSetting:
		return v.String()
	case *[]policies.Weight:
		var texts []string
		for _, w := range *v {
			texts = append(texts, fmt.Sprintf("%s: %v", w.Resource, w.Weight))
		}
		return strings.Join(texts, ", ")
	}
	panic("configs: " + s.Section + " " + s.Key + " is of an unknown type")
}

// Label names the setting in differences.
func (s *PartitionSetting) Label() string {
	switch label := strings.TrimSuffix(s.Key, "enabled"); {
	case label == "":
		return s.Section
	case s.Section == "preemption":
		return label
	default:
		return s.Section + " " + label
	}
}

// DefaultPartitionSettings returns a partition with the default of every setting, and without a name and queues.
func DefaultPartitionSettings() Partition {
	return Partition{
		PreemptionEnabled: true, NodePressureGrace: DefaultNodePressureGrace, NominationTimeout: DefaultNominationTimeout,
		Churn: DefaultChurn(), Reservation: DefaultReservation(), NodeRefusal: refusals.DefaultSettings(),
		NodeSortPolicy: policies.DefaultNodeSortPolicy(),
	}
}
