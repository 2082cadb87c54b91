// Package configs has the settings of partitions and queues as typed, immutable values, and pure
// functions on them: what the properties of a queue mean, which of them are inherited, the defaults,
// the quotas that the tags of an application set, and how the configurations of a partition differ.
//
// It knows no text of a whole document: package queuesyaml reads and validates queues.yaml into these
// values and writes them. The meaning of quantities, policies, access lists, limits and placement
// rules is in the packages that define their types.
//
// Invariant: a Partition that queuesyaml.Load returned is valid; its users do not validate again.
package configs

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Config is a valid document (CFG-22).
type Config struct {
	Partitions []Partition
	Classes    priorities.Registry // priority classes of the whole cluster (PRI-25)
	HasClasses bool                // the document has the key priorityclasses
	Budgets    budgets.Registry    // disruption budgets of the whole cluster; each partition has them too
	HasBudgets bool                // the document has the key disruptionbudgets
	Spellings  Spellings           // how the document writes quantities
	Checksum   string              // SHA-256 of the text in upper-case hex, without its own checksum (CFG-20)
}

// Partition is the valid configuration of one partition (CFG-23).
type Partition struct {
	Name                   string // "default" when the document has none
	Root                   Queue
	PlacementRules         []placement.Rule // empty: only the queue that the application names
	NodeSortPolicy         policies.NodeSortPolicy
	PriorityDisabled       bool   // priority: disabled (PRI-21 to PRI-23, PRE-11); default false
	PreemptionEnabled      bool   // default true
	QuotaPreemptionEnabled bool   // default false
	NodePressureEnabled    bool   // preempt on a node whose capacity fell below its usage (PRE-119); default false
	UserGroupResolver      string // resolver of the groups of users: os, ldap, or empty for none (CFG-34)
	Budgets                budgets.Registry

	// ClassesNeedingQuota selects the asks that are rejected unless a class quota of their queue or
	// of a queue above counts them (QUO-37).
	ClassesNeedingQuota []limits.Selector

	// NominationTimeout bounds the wait for the confirmation of a victim and for the resources
	// of the nominated node; 0: no bound. Default 5 minutes.
	NominationTimeout time.Duration

	// NodePressureGrace is the time for which the allocations of a node must exceed its capacity before any is preempted,
	// with NodePressureEnabled; 0: preempt at once. Default one minute.
	NodePressureGrace time.Duration

	Churn Churn

	Reservation Reservation

	NodeRefusal refusals.Settings // noderefusal

	// FairnessWeights say what the use of a resource counts for in usage over time, from 0.001 to 1000, in the order of
	// names (fairness.weights, FAI-2); empty: the dominant share counts.
	FairnessWeights []policies.Weight
}

// Reservation configures reservations: an ask that fits no node reserves one, whose free resources are
// held for it (RES-1).
type Reservation struct {
	Enabled     bool          // default true
	Delay       time.Duration // how old an ask is that reserves a node; default 2 s. Asks that require a node do not wait
	Timeout     time.Duration // above 0: how long a reservation lasts; default 60 minutes
	NodePercent int           // from 1 to 100: how much of the nodes may be reserved, but always one; default 5

	Backfill      Backfill // which asks may use what is reserved; default none (RES-12)
	BackfillAsks  int      // from 1 to 10000: how many asks a search for one to backfill looks at; default 64
	BackfillNodes int      // likewise: how many reserved nodes; default 64
}

// Backfill says which asks may use what reservations hold.
type Backfill uint8

// The values.
const (
	BackfillOff     Backfill = iota // "off": none
	BackfillBounded                 // "bounded": those that end before the reservation can be used
)

// backfillWords are the values as queues.yaml has them.
var backfillWords = []string{"off", "bounded"}

func (b Backfill) String() string { return backfillWords[b] }

// Choose implements WordSetting.
func (b *Backfill) Choose(word int) { *b = Backfill(word) }

// DefaultReservation has the delay and the timeout of YuniKorn. YuniKorn has no bound on the number of
// reserved nodes, so that in a full cluster every node is reserved.
func DefaultReservation() Reservation {
	return Reservation{Enabled: true, Delay: 2 * time.Second, Timeout: time.Hour, NodePercent: 5, BackfillAsks: 64,
		BackfillNodes: 64}
}

// Churn configures the detection of preemption cycles (PRE-103): after Cycles cycles of the same leaf
// queues within Window an event is emitted, and with CircuitBreaker leaf queues that are neighbours
// in the cycle do not preempt each other for CoolDown.
type Churn struct {
	CircuitBreaker bool          // default true
	Cycles         int           // at most 1000; 0: cycles are not detected. Default 10
	Window         time.Duration // above 0. Default 30 minutes
	CoolDown       time.Duration // above 0. Default 5 minutes
}

// DefaultNominationTimeout is well above usual grace periods of pods: the default in
// Kubernetes is 30 seconds.
const DefaultNominationTimeout = 5 * time.Minute

// DefaultNodePressureGrace is longer than the restart of a device plugin or of the kubelet, during which a node reports
// less than it has.
const DefaultNodePressureGrace = time.Minute

// MaxChurnCycles bounds Churn.Cycles.
const MaxChurnCycles = 1000

// DefaultChurn has bounds that a cluster with useful preemption does not reach: in each cycle a
// victim terminates, asks again, waits until it is evaluated and preempts another allocation.
func DefaultChurn() Churn {
	return Churn{CircuitBreaker: true, Cycles: 10, Window: 30 * time.Minute, CoolDown: 5 * time.Minute}
}

// Queue is the valid configuration of one queue and of the queues below it. Properties
// are resolved: Settings includes the inherited ones (QUE-17).
type Queue struct {
	Name                string // one level, lower case
	Parent              bool   // a parent queue, perhaps without children yet; false: a leaf
	Max                 resources.Limit
	Guaranteed          resources.Guarantee
	MaxApplications     uint64 // running ones; 0: unlimited
	SubmitACL, AdminACL security.ACL
	Limits              []limits.Limit
	ClassQuotas         []limits.ClassQuota
	ChildTemplate       *ChildTemplate // for dynamic queues below; nil: none
	Settings
	Children []Queue // in the order of the document
}

// ChildTemplate is the configuration of dynamic leaf queues (QUE-21).
type ChildTemplate struct {
	MaxApplications uint64
	Max             resources.Limit
	Guaranteed      resources.Guarantee
	Settings
}
