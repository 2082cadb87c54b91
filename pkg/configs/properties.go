package configs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The properties of queues.
const (
	sortPolicyProperty              = "application.sort.policy"
	sortPriorityProperty            = "application.sort.priority"
	priorityPolicyProperty          = "priority.policy"
	priorityOffsetProperty          = "priority.offset"
	preemptionPolicyProperty        = "preemption.policy"
	preemptionDelayProperty         = "preemption.delay"
	priorityPreemptionProperty      = "preemption.priority"
	priorityPreemptionDelayProperty = "preemption.priority.delay"
	victimUnitProperty              = "preemption.victim.unit"
	gangPreemptionProperty          = "preemption.gang"
	budgetPolicyProperty            = "disruption.budgets"
	victimOrderProperty             = "preemption.victim.order"
	victimQoSProperty               = "preemption.victim.qos"
	quotaPreemptionDelayProperty    = "quota.preemption.delay"
	backoffProperty                 = "application.unschedasks.backoff"
	backoffDelayProperty            = "application.unschedasks.backoff.delay"
)

// property is a property of queues, and how its text is parsed.
type property struct {
	name     string
	accepted string   // description of the legal values, for hints and the schema
	words    []string // all legal values, or examples
	// read sets a field of s and reports whether the text is legal. An illegal text leaves s
	// unchanged, so the default stays. Requires: the text is not empty.
	read func(s *Settings, text string) bool
}

var properties = []property{
	{sortPolicyProperty, "fifo, fair or stateaware, in lower case", []string{"fifo", "fair", "stateaware"}, readAppSort},
	{sortPriorityProperty, "enabled or disabled", []string{"enabled", "disabled"}, readPrioritySort},
	{priorityPolicyProperty, "default or fence", []string{"default", "fence"}, readPriorityPolicy},
	{priorityOffsetProperty, "a whole number that fits 32 bits, such as -100", []string{"-100"}, readPriorityOffset},
	{preemptionPolicyProperty, "default, fence or disabled", []string{"default", "fence", "disabled"}, readPreemptionPolicy},
	{preemptionDelayProperty, "a duration above zero, such as 30s", []string{"30s"}, readPreemptionDelay},
	{priorityPreemptionProperty, "disabled, leaf or fence", []string{"disabled", "leaf", "fence"}, readPriorityPreemption},
	{priorityPreemptionDelayProperty, "a duration, such as 30s or 0s", []string{"30s", "0s"}, readPriorityPreemptionDelay},
	{victimUnitProperty, "allocation, taskgroup or application", []string{"allocation", "taskgroup", "application"}, readVictimUnit},
	{gangPreemptionProperty, "enabled or disabled", []string{"enabled", "disabled"}, readGangPreemption},
	{budgetPolicyProperty, "best-effort, strict or ignore", []string{"best-effort", "strict", "ignore"}, readBudgetPolicy},
	{victimOrderProperty, "compatible or priority", []string{"compatible", "priority"}, readVictimOrder},
	{victimQoSProperty, "disabled or enabled", []string{"disabled", "enabled"}, readVictimQoS},
	{quotaPreemptionDelayProperty, "a duration such as 5m, or 0s for off", []string{"5m", "0s"}, readQuotaPreemptionDelay},
	{backoffProperty, "a whole number, zero or more", []string{"3"}, readBackoff},
	{backoffDelayProperty, "a duration above zero, such as 30s", []string{"30s"}, readBackoffDelay},
}

func propertyNames() []string {
	names := make([]string, 0, len(properties))
	for _, p := range properties {
		names = append(names, p.name)
	}
	return names
}

func findProperty(name string) (property, bool) {
	for _, p := range properties {
		if p.name == name {
			return p, true
		}
	}
	return property{}, false
}

// DefaultSettings are the settings of a queue without properties.
func DefaultSettings() Settings { return readSettings(map[string]string{}) }

// readSettings parses resolved properties, and keeps the map. A malformed value means the
// default, with a warning of checkProperty (QUE-7, CFG-74).
func readSettings(resolved map[string]string) Settings {
	s := Settings{
		PreemptionDelay:        30 * time.Second,
		UnschedAskBackoffDelay: 30 * time.Second,
		Properties:             resolved,
	}
	for _, p := range properties {
		if text := resolved[p.name]; text != "" {
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
