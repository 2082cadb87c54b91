package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The properties of queues.
const (
	SortPolicyProperty              = "application.sort.policy"
	SortPriorityProperty            = "application.sort.priority"
	PriorityPolicyProperty          = "priority.policy"
	PriorityOffsetProperty          = "priority.offset"
	PreemptionPolicyProperty        = "preemption.policy"
	PreemptionDelayProperty         = "preemption.delay"
	PriorityPreemptionProperty      = "preemption.priority"
	PriorityPreemptionDelayProperty = "preemption.priority.delay"
	VictimUnitProperty              = "preemption.victim.unit"
	GangPreemptionProperty          = "preemption.gang"
	BudgetPolicyProperty            = "disruption.budgets"
	VictimOrderProperty             = "preemption.victim.order"
	VictimQoSProperty               = "preemption.victim.qos"
	QuotaPreemptionDelayProperty    = "quota.preemption.delay"
	BackoffProperty                 = "application.unschedasks.backoff"
	BackoffDelayProperty            = "application.unschedasks.backoff.delay"
	ExistingLeavesProperty          = "childtemplate.existing"
)

// Property is a property of queues, and how its text is parsed.
type Property struct {
	Name     string
	Accepted string   // description of the legal values, for hints and the schema
	Words    []string // all legal values, or examples
	// read sets a field of s and reports whether the text is legal. An illegal text leaves s
	// unchanged, so the default stays. Requires: the text is not empty.
	read func(s *Settings, text string) bool
}

var properties = []Property{
	{SortPolicyProperty, "fifo, fair or stateaware, in lower case", []string{"fifo", "fair", "stateaware"}, readAppSort},
	{SortPriorityProperty, "enabled or disabled", []string{"enabled", "disabled"}, readPrioritySort},
	{PriorityPolicyProperty, "default or fence", []string{"default", "fence"}, readPriorityPolicy},
	{PriorityOffsetProperty, "a whole number that fits 32 bits, such as -100", []string{"-100"}, readPriorityOffset},
	{PreemptionPolicyProperty, "default, fence or disabled", []string{"default", "fence", "disabled"},
		readPreemptionPolicy},
	{PreemptionDelayProperty, "a duration above zero, such as 30s", []string{"30s"}, readPreemptionDelay},
	{PriorityPreemptionProperty, "disabled, leaf or fence", []string{"disabled", "leaf", "fence"}, readPriorityPreemption},
	{PriorityPreemptionDelayProperty, "a duration, such as 30s or 0s", []string{"30s", "0s"}, readPriorityPreemptionDelay},
	{VictimUnitProperty, "allocation, taskgroup or application", []string{"allocation", "taskgroup", "application"},
		readVictimUnit},
	{GangPreemptionProperty, "enabled or disabled", []string{"enabled", "disabled"}, readGangPreemption},
	{BudgetPolicyProperty, "best-effort, strict or ignore", []string{"best-effort", "strict", "ignore"}, readBudgetPolicy},
	{VictimOrderProperty, "compatible or priority", []string{"compatible", "priority"}, readVictimOrder},
	{VictimQoSProperty, "disabled or enabled", []string{"disabled", "enabled"}, readVictimQoS},
	{QuotaPreemptionDelayProperty, "a duration such as 5m, or 0s for off", []string{"5m", "0s"}, readQuotaPreemptionDelay},
	{BackoffProperty, "a whole number, zero or more", []string{"3"}, readBackoff},
	{BackoffDelayProperty, "a duration above zero, such as 30s", []string{"30s"}, readBackoffDelay},
	{ExistingLeavesProperty, "keep or update", []string{"keep", "update"}, readExistingLeaves},
}

// Properties are the known properties, in the order in which they are documented.
func Properties() []Property { return slices.Clone(properties) }

// PropertyNames are the names of the known properties, in the order of Properties.
func PropertyNames() []string {
	names := make([]string, 0, len(properties))
	for _, p := range properties {
		names = append(names, p.Name)
	}
	return names
}

// FindProperty finds a known property by its name. ok is false if there is none.
func FindProperty(name string) (p Property, ok bool) {
	for _, p := range properties {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

// Accepts reports whether a text is a legal value. An empty text, which means the default, is not.
func (p Property) Accepts(text string) bool { return text != "" && p.read(&Settings{}, text) }

// IsDefaultProperty reports whether a property has the same effect as a missing one. An unknown
// property has no effect, but REST shows it: it is the default only if it is empty.
func IsDefaultProperty(name, value string) bool {
	p, ok := FindProperty(name)
	if !ok {
		return value == ""
	}
	s := DefaultSettings()
	if value != "" {
		p.read(&s, value)
	}
	return reflect.DeepEqual(s, DefaultSettings())
}

// DefaultSettings are the settings of a queue without properties.
func DefaultSettings() Settings { return ReadSettings(map[string]string{}) }

// ReadSettings parses resolved properties, and keeps the map. A malformed value means the
// default (QUE-7).
func ReadSettings(resolved map[string]string) Settings {
	s := Settings{
		PreemptionDelay:        30 * time.Second,
		UnschedAskBackoffDelay: 30 * time.Second,
		Properties:             resolved,
	}
	for _, p := range properties {
		if text := resolved[p.Name]; text != "" {
			p.read(&s, text)
		}
	}
	return s
}

func readAppSort(s *Settings, text string) bool {
	policy, ok := policies.ParseAppSort(text)
	if ok {
		s.AppSort = policy
	}
	return ok
}

// readWord sets to to the policy, from the zero value to last, whose name is text in any case.
func readWord[P interface {
	~uint8
	fmt.Stringer
}](to *P, last P, text string) bool {
	for p := P(0); p <= last; p++ {
		if strings.EqualFold(text, p.String()) {
			*to = p
			return true
		}
	}
	return false
}

func readPrioritySort(s *Settings, text string) bool {
	return readWord(&s.PrioritySort, policies.PriorityIgnored, text)
}

func readPriorityPolicy(s *Settings, text string) bool {
	return readWord(&s.PriorityPolicy, policies.PriorityFence, text)
}

func readPreemptionPolicy(s *Settings, text string) bool {
	return readWord(&s.PreemptionPolicy, policies.PreemptDisabled, text)
}

func readPriorityPreemption(s *Settings, text string) bool {
	return readWord(&s.PriorityPreemption, policies.PriorityPreemptionFence, text)
}

func readBudgetPolicy(s *Settings, text string) bool {
	return readWord(&s.BudgetPolicy, policies.BudgetsIgnored, text)
}

func readVictimOrder(s *Settings, text string) bool {
	return readWord(&s.VictimOrder, policies.VictimOrderPriority, text)
}

func readVictimQoS(s *Settings, text string) bool {
	return readWord(&s.VictimQoS, policies.VictimQoSEnabled, text)
}

func readPriorityOffset(s *Settings, text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	if err == nil {
		s.PriorityOffset = int32(n)
	}
	return err == nil
}

func readVictimUnit(s *Settings, text string) bool {
	return readWord(&s.VictimUnit, policies.VictimUnitApplication, text)
}

func readGangPreemption(s *Settings, text string) bool {
	s.GangPreemption = strings.EqualFold(text, "enabled")
	return s.GangPreemption || strings.EqualFold(text, "disabled")
}

func readExistingLeaves(s *Settings, text string) bool {
	s.UpdatesLeaves = strings.EqualFold(text, "update")
	return s.UpdatesLeaves || strings.EqualFold(text, "keep")
}

func readPreemptionDelay(s *Settings, text string) bool { return readDelay(&s.PreemptionDelay, text) }

// readPriorityPreemptionDelay accepts 0s too, which is the default.
func readPriorityPreemptionDelay(s *Settings, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return false
	}
	s.PriorityPreemptionDelay = d
	return true
}

func readBackoffDelay(s *Settings, text string) bool {
	return readDelay(&s.UnschedAskBackoffDelay, text)
}

func readDelay(to *time.Duration, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return false
	}
	*to = d
	return true
}

// readQuotaPreemptionDelay accepts zero, which means off: a queue can override an inherited delay.
func readQuotaPreemptionDelay(s *Settings, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return false
	}
	s.QuotaPreemptionDelay = d
	return true
}

func readBackoff(s *Settings, text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		s.UnschedAskBackoff = n
	}
	return err == nil
}
