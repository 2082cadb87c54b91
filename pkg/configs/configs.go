// Package configs turns queues.yaml into typed, immutable values, once.
//
// Load decodes and validates in one call, so nothing later in the program holds a
// quantity, a policy or an access list as text, and nothing that passes can fail to
// take effect. Every problem is reported, not the first, each at its place in the
// file. What the settings mean is for the packages whose types they are.
//
// The rule that must hold: a Partition that Load returned is valid; whoever gets one
// checks nothing again.
package configs

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Config is a whole valid document.
type Config struct {
	Partitions []Partition
	Classes    priorities.Registry // of the whole cluster (priority.md 1.1)
	HasClasses bool                // the document says which classes there are; false: it has no such key
	Budgets    budgets.Registry    // of the whole cluster; each partition has them too
	HasBudgets bool                // as HasClasses
	spellings  map[spelling]string // of quantities, as the document has them
	Checksum   string              // SHA-256 of the text in upper-case hex, without a checksum line of its own (behaviour.md 1.1)
}

// Partition is the valid configuration of one partition (behaviour.md 1.2.2).
type Partition struct {
	Name                   string // "default" when the document has none
	Root                   Queue
	PlacementRules         []placement.Rule // empty: only the queue a submission names
	NodeSortPolicy         policies.NodeSortPolicy
	PriorityDisabled       bool   // no order heeds priorities, no ask preempts, and none may name a class (priority.md S3-6); default false
	PreemptionEnabled      bool   // default true
	QuotaPreemptionEnabled bool   // default false
	NodePressureEnabled    bool   // work leaves a node that has less than it holds; default false
	UserGroupResolver      string // who knows the groups of users: os, ldap, or nobody (empty)
	Budgets                budgets.Registry

	// ClassesNeedingQuota finds the asks that a class quota must cover: one that counts them, in their
	// queue or above it (priority.md S3-4).
	ClassesNeedingQuota []limits.Selector

	// NominationTimeout is how long preemption waits, for a confirmation that somebody has
	// left, and for the room on a node; 0: for ever. Default 5 minutes.
	NominationTimeout time.Duration

	Churn Churn
}

// Churn says what is done where preemption leads to more preemption (priority.md P10): when
// room has gone round a circle of leaves so often within so long, that is told, and with the
// breaker neighbours in the circle do not take each other's place for a while.
type Churn struct {
	CircuitBreaker bool          // default true
	Cycles         int           // at most 1000; 0: nobody watches. Default 10
	Window         time.Duration // above 0. Default 30 minutes
	CoolDown       time.Duration // above 0. Default 5 minutes
}

// Queue is the valid configuration of one queue and what is below it. Properties
// are resolved: what a child inherits is already in it (behaviour.md 2.2).
type Queue struct {
	Name                string // one level, lower case
	Parent              bool   // has children or may get them; false: a leaf
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

// Settings are the properties of a queue, read (behaviour.md 2.1).
type Settings struct {
	AppSort                 policies.AppSort // of a leaf's applications
	PrioritySort            policies.PrioritySort
	PriorityPolicy          policies.PriorityPolicy
	PriorityOffset          int32
	PreemptionPolicy        policies.PreemptionPolicy
	PriorityPreemption      policies.PriorityPreemption
	VictimUnit              policies.VictimUnit
	GangPreemption          bool                  // asks of a task group look for victims together, or not at all
	BudgetPolicy            policies.BudgetPolicy // for the work of a leaf: whether it may be taken beyond its budgets
	VictimOrder             policies.VictimOrder  // for the asks of a leaf: whom they take first
	VictimQoS               policies.VictimQoS    // likewise
	PreemptionDelay         time.Duration         // before a guarantee gives a right; default 30 s
	PriorityPreemptionDelay time.Duration         // before priority does; default 0
	QuotaPreemptionDelay    time.Duration         // quota.preemption.delay; 0: off
	UnschedAskBackoff       uint64                // application.unschedasks.backoff; 0: off
	UnschedAskBackoffDelay  time.Duration         // default 30 s
	// Properties are all properties as text, inherited ones and unknown ones included,
	// for REST to show. Never changed.
	Properties map[string]string
}

// ChildTemplate is what a dynamic leaf gets when it is created (behaviour.md 3.2).
type ChildTemplate struct {
	MaxApplications uint64
	Max             resources.Limit
	Guaranteed      resources.Guarantee
	Settings
}
