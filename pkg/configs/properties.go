package configs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The properties of queues that code outside the table names.
const (
	SortPolicyProperty           = "application.sort.policy"
	PriorityPolicyProperty       = "priority.policy"
	PriorityOffsetProperty       = "priority.offset"
	PriorityPreemptionProperty   = "preemption.priority"
	QuotaPreemptionDelayProperty = "quota.preemption.delay"
	QuotaSettleProperty          = "quota.percent.settle"
	BackoffProperty              = "application.unschedasks.backoff"
	ExistingLeavesProperty       = "childtemplate.existing"
	AgeingProperty               = "priority.ageing"
	HalfLifeProperty             = "fairness.halflife"
	FairnessByProperty           = "fairness.by"
	FairnessWeightProperty       = "fairness.weight"
	RunTimeDefaultProperty       = "runtime.default"
	RunTimeMaxProperty           = "runtime.max"
	RunTimeEnforceProperty       = "runtime.enforce"
	FairShareProperty            = "preemption.fairshare"
	MinRuntimeProperty           = "preemption.minruntime"
	MinRuntimeStrictProperty     = "preemption.minruntime.strict"
)

// Settings are the parsed properties of a queue (QUE-7). The table of properties has an entry for each field.
type Settings struct {
	AppSort                 policies.AppSort // of a leaf's applications
	PrioritySort            policies.PrioritySort
	PriorityPolicy          policies.PriorityPolicy
	PriorityOffset          int32
	Ageing                  policies.Ageing // of the applications of a leaf that wait for their first allocation
	Fairness                policies.Fairness
	PreemptionPolicy        policies.PreemptionPolicy
	PreemptionGuarantee     policies.PreemptionGuarantee
	PriorityPreemption      policies.PriorityPreemption
	VictimUnit              policies.VictimUnit
	GangPreemption          bool
	BudgetPolicy            policies.BudgetPolicy
	VictimOrder             policies.VictimOrder
	VictimQoS               policies.VictimQoS
	FairShare               bool          // what is directly below the queue preempts for its fair share
	MinRuntimeStrict        bool          // what MinRuntime protects is no victim; false: it is the last one
	UpdatesLeaves           bool          // dynamic leaves that exist get a changed child template
	MinRuntime              time.Duration // for which what has begun is protected from preemption; 0: not at all
	PreemptionDelay         time.Duration
	PriorityPreemptionDelay time.Duration
	QuotaPreemptionDelay    time.Duration // 0: off
	QuotaSettle             time.Duration // at least 0: how long the nodes must settle before a max in percent is enforced
	UnschedAskBackoff       uint64        // 0: off
	UnschedAskBackoffDelay  time.Duration
	RunTime                 RunTime
	// Properties are all properties as text, inherited and unknown ones included, for REST. The map is immutable.
	Properties map[string]string
}

// RunTime bounds how long allocations of a leaf run (RUN-2).
type RunTime struct {
	Default  time.Duration // of an ask without a wish; 0: Max
	Max      time.Duration // of every ask; 0: none
	Cut      bool          // an ask with a longer wish has Max; false: it is rejected
	Enforced bool          // after the bound and Grace an allocation is released
	Grace    time.Duration
}

// The bounds of a run time that is written down (RUN-1).
const (
	MinRunTime = time.Second
	MaxRunTime = 10 * 365 * 24 * time.Hour
)

// Property describes a property of queues: reading, hints, schema, inheritance, difference and documents derive from
// it.
type Property struct {
	Name     string
	Sentence string   // what it sets
	Default  string   // a text with the effect of a missing property
	Accepted string   // the legal values, for hints, the schema and the documents
	Words    []string // all legal values, or examples
	// Inherited is the only value that children inherit (QUE-18); AnyValue: they inherit every value; empty: none.
	Inherited string
	// read sets the field of s and reports whether the text is legal. An illegal text leaves s unchanged, so the
	// default stays. Requires: the text is not empty.
	read func(s *Settings, text string) bool
	same func(a, b *Settings) bool
}

// AnyValue as Property.Inherited means that children inherit the property, whatever its value is.
const AnyValue = "*"

var properties = []Property{
	word(Property{Name: SortPolicyProperty, Sentence: "The order of the applications of a leaf.", Inherited: AnyValue,
		Accepted: alternatives(policies.AppSorts()) + ", in lower case"},
		func(s *Settings) *policies.AppSort { return &s.AppSort },
		func(a, b string) bool { return a == b }, policies.AppSorts()...),
	word(Property{Name: "application.sort.priority", Inherited: AnyValue,
		Sentence: "Whether priority is compared before share and submission time, or after them."},
		func(s *Settings) *policies.PrioritySort { return &s.PrioritySort },
		strings.EqualFold, policies.PriorityFirst, policies.PriorityIgnored),
	word(Property{Name: PriorityPolicyProperty,
		Sentence: "fence: outside of the queue its asks have the priority of the offset alone."},
		func(s *Settings) *policies.PriorityPolicy { return &s.PriorityPolicy },
		strings.EqualFold, policies.PriorityDefault, policies.PriorityFence),
	scalar(Property{Name: PriorityOffsetProperty, Default: "0", Words: []string{"-100"},
		Sentence: "Added to the priorities of the asks in the queue.",
		Accepted: "a whole number that fits 32 bits, such as -100"},
		func(s *Settings) *int32 { return &s.PriorityOffset },
		func(text string) (int32, bool) {
			n, err := strconv.ParseInt(text, 10, 32)
			return int32(n), err == nil
		}),
	scalar(Property{Name: AgeingProperty, Default: "off", Words: []string{"10 per 10m up to 100", "off"},
		Sentence: "How the priority of an application of the leaf that has no allocation rises while it waits.",
		Accepted: "N per DURATION up to N, such as 10 per 10m up to 100, or off"},
		func(s *Settings) *policies.Ageing { return &s.Ageing }, policies.ParseAgeing),
	scalar(Property{Name: HalfLifeProperty, Default: "off", Words: []string{"24h", "off"},
		Sentence: "What is below the queue is ordered by usage over time, which counts for half after so long.",
		Accepted: "a duration from 5m to 8760h, or off"},
		func(s *Settings) *time.Duration { return &s.Fairness.HalfLife }, policies.ParseHalfLife),
	word(Property{Name: FairnessByProperty,
		Sentence: "Whose usage over time orders the applications of a leaf, and who shares it fairly."},
		func(s *Settings) *policies.FairnessBy { return &s.Fairness.By }, strings.EqualFold,
		policies.FairByApplication, policies.FairByUser),
	scalar(Property{Name: FairnessWeightProperty, Default: "1", Words: []string{"2.5", "guarantee"},
		Sentence: "How many times as much as a sibling with 1 it may use; guarantee: its part of the cluster.",
		Accepted: "a number from 0.001 to 1000000, or guarantee"},
		func(s *Settings) *policies.FairnessWeight { return &s.Fairness.Weight }, policies.ParseFairnessWeight),
	word(Property{Name: "preemption.policy", Inherited: policies.PreemptDisabled.String(),
		Sentence: "Where asks of the queue find victims; disabled: its allocations are no victims."},
		func(s *Settings) *policies.PreemptionPolicy { return &s.PreemptionPolicy },
		strings.EqualFold, policies.PreemptDefault, policies.PreemptFence, policies.PreemptDisabled),
	duration(Property{Name: "preemption.delay", Default: "30s", Words: []string{"30s"},
		Sentence: "How long an ask waits before it preempts by guarantee or for its fair share."},
		func(s *Settings) *time.Duration { return &s.PreemptionDelay }),
	word(Property{Name: "preemption.guarantee", Inherited: AnyValue,
		Sentence: "In which resources the guarantee entitles: lacking: also if the queue is above it in others."},
		func(s *Settings) *policies.PreemptionGuarantee { return &s.PreemptionGuarantee }, strings.EqualFold,
		policies.PreemptionGuaranteeAll, policies.PreemptionGuaranteeLacking),
	scalar(Property{Name: FairShareProperty, Default: "disabled", Words: []string{"enabled", "disabled"},
		Sentence: "Whether what is directly below the queue preempts siblings for its fair share.",
		Accepted: "enabled or disabled"},
		func(s *Settings) *bool { return &s.FairShare }, func(text string) (enabled, ok bool) {
			enabled = strings.EqualFold(text, "enabled")
			return enabled, enabled || strings.EqualFold(text, "disabled")
		}),
	word(Property{Name: PriorityPreemptionProperty, Inherited: AnyValue,
		Sentence: "Where asks of the queue preempt allocations of lower priority."},
		func(s *Settings) *policies.PriorityPreemption { return &s.PriorityPreemption }, strings.EqualFold,
		policies.PriorityPreemptionDisabled, policies.PriorityPreemptionLeaf, policies.PriorityPreemptionFence),
	duration(Property{Name: "preemption.priority.delay", Default: "0s", Words: []string{"30s", "0s"},
		Sentence: "How long an ask waits before it preempts by priority.", Accepted: "a duration, such as 30s or 0s"},
		func(s *Settings) *time.Duration { return &s.PriorityPreemptionDelay }),
	word(Property{Name: "preemption.victim.unit", Inherited: AnyValue,
		Sentence: "Which allocations of the queue are preempted together."},
		func(s *Settings) *policies.VictimUnit { return &s.VictimUnit }, strings.EqualFold,
		policies.VictimUnitAllocation, policies.VictimUnitTaskGroup, policies.VictimUnitApplication),
	flag(Property{Name: "preemption.gang", Words: []string{"enabled", "disabled"}, Default: "disabled",
		Sentence: "Whether the asks of a task group preempt together, or not at all."},
		func(s *Settings) *bool { return &s.GangPreemption }, "enabled"),
	word(Property{Name: "disruption.budgets", Inherited: AnyValue,
		Sentence: "Whether allocations of the queue are preempted beyond their disruption budgets."},
		func(s *Settings) *policies.BudgetPolicy { return &s.BudgetPolicy }, strings.EqualFold,
		policies.BudgetsBestEffort, policies.BudgetsStrict, policies.BudgetsIgnored),
	word(Property{Name: "preemption.victim.order", Inherited: AnyValue,
		Sentence: "Which victims the asks of the queue prefer: compatible is YuniKorn's order."},
		func(s *Settings) *policies.VictimOrder { return &s.VictimOrder },
		strings.EqualFold, policies.VictimOrderCompatible, policies.VictimOrderPriority),
	word(Property{Name: "preemption.victim.qos", Inherited: AnyValue,
		Sentence: "Whether asks of the queue prefer victims of a lower quality of service."},
		func(s *Settings) *policies.VictimQoS { return &s.VictimQoS },
		strings.EqualFold, policies.VictimQoSDisabled, policies.VictimQoSEnabled),
	minRuntime(Property{Name: MinRuntimeProperty, Default: "0s", Words: []string{"10m", "0s"},
		Sentence: "How long an allocation of the queue has to run before it is a victim like others."},
		func(s *Settings) *time.Duration { return &s.MinRuntime }),
	flag(Property{Name: MinRuntimeStrictProperty, Words: []string{"true", "false"}, Default: "false",
		Sentence: "Whether it is no victim before, instead of the last one."},
		func(s *Settings) *bool { return &s.MinRuntimeStrict }, "true"),
	duration(Property{Name: QuotaPreemptionDelayProperty, Default: "0s", Words: []string{"5m", "0s"},
		Sentence: "How long the queue may be above its max before its allocations are preempted.",
		Accepted: "a duration such as 5m, or 0s for off"},
		func(s *Settings) *time.Duration { return &s.QuotaPreemptionDelay }),
	duration(Property{Name: QuotaSettleProperty, Default: "5m", Words: []string{"5m", "0s"},
		Sentence: "How long a max that is a percent is not enforced after a start, or after nodes went.",
		Accepted: "a duration, such as 5m or 0s"},
		func(s *Settings) *time.Duration { return &s.QuotaSettle }),
	scalar(Property{Name: BackoffProperty, Default: "0", Words: []string{"3"}, Inherited: AnyValue,
		Sentence: "A setting of YuniKorn without effect.", Accepted: "a whole number, zero or more"},
		func(s *Settings) *uint64 { return &s.UnschedAskBackoff },
		func(text string) (uint64, bool) {
			n, err := strconv.ParseUint(text, 10, 64)
			return n, err == nil
		}),
	duration(Property{Name: "application.unschedasks.backoff.delay", Default: "30s", Words: []string{"30s"},
		Sentence: "A setting of YuniKorn without effect."},
		func(s *Settings) *time.Duration { return &s.UnschedAskBackoffDelay }),
	runTime(Property{Name: RunTimeDefaultProperty, Words: []string{"1h", "0s"},
		Sentence: "How long an allocation runs at most whose ask does not say it; 0s: runtime.max."},
		func(s *Settings) *time.Duration { return &s.RunTime.Default }),
	runTime(Property{Name: RunTimeMaxProperty, Words: []string{"24h", "0s"},
		Sentence: "How long any allocation runs at most; 0s: no bound."},
		func(s *Settings) *time.Duration { return &s.RunTime.Max }),
	flag(Property{Name: "runtime.excess", Words: []string{"reject", "cut"}, Default: "reject",
		Sentence: "Whether an ask that wishes to run longer than runtime.max is rejected, or gets that bound."},
		func(s *Settings) *bool { return &s.RunTime.Cut }, "cut"),
	flag(Property{Name: RunTimeEnforceProperty, Words: []string{"true", "false"}, Default: "false",
		Sentence: "Whether an allocation is released that runs longer than its bound."},
		func(s *Settings) *bool { return &s.RunTime.Enforced }, "true"),
	duration(Property{Name: "runtime.grace", Default: "30s", Words: []string{"30s", "0s"},
		Sentence: "How long an allocation may run on after its bound before it is released.",
		Accepted: "a duration, such as 30s or 0s"},
		func(s *Settings) *time.Duration { return &s.RunTime.Grace }),
	flag(Property{Name: ExistingLeavesProperty, Words: []string{"keep", "update"}, Default: "keep",
		Sentence: "Whether dynamic leaves that exist get a changed child template."},
		func(s *Settings) *bool { return &s.UpdatesLeaves }, "update"),
}

// scalar completes the entry of a property by its field, and by a function that reads a legal text.
func scalar[T comparable](p Property, field func(*Settings) *T, parse func(string) (T, bool)) Property {
	p.read = func(s *Settings, text string) bool {
		value, ok := parse(text)
		if ok {
			*field(s) = value
		}
		return ok
	}
	p.same = func(a, b *Settings) bool { return *field(a) == *field(b) }
	return p
}

// word completes the entry of a property with some values, of which the first is the default.
func word[T interface {
	comparable
	fmt.Stringer
}](p Property, field func(*Settings) *T, matches func(a, b string) bool, values ...T) Property {
	for _, v := range values {
		p.Words = append(p.Words, v.String())
	}
	p.Default = p.Words[0]
	if p.Accepted == "" {
		p.Accepted = alternatives(p.Words)
	}
	return scalar(p, field, func(text string) (value T, ok bool) {
		if i := slices.IndexFunc(p.Words, func(w string) bool { return matches(w, text) }); i >= 0 {
			return values[i], true
		}
		return value, false
	})
}

// flag completes the entry of a property with two values, of which one sets the field. Children inherit both.
func flag(p Property, field func(*Settings) *bool, set string) Property {
	p.Accepted, p.Inherited = alternatives(p.Words), AnyValue
	return scalar(p, field, func(text string) (bool, bool) {
		known := slices.ContainsFunc(p.Words, func(w string) bool { return strings.EqualFold(w, text) })
		return strings.EqualFold(text, set), known
	})
}

// duration completes the entry of a property with a duration, which children inherit. It must be above zero unless the
// entry says what is accepted: then zero is legal, so that a queue can override what it inherits.
func duration(p Property, field func(*Settings) *time.Duration) Property {
	least := time.Duration(0)
	if p.Accepted == "" {
		p.Accepted, least = "a duration above zero, such as 30s", 1
	}
	p.Inherited = AnyValue
	return scalar(p, field, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= least
	})
}

// runTime completes the entry of a property with a bound of run times, which children inherit; 0s: none.
func runTime(p Property, field func(*Settings) *time.Duration) Property {
	p.Default, p.Inherited, p.Accepted = "0s", AnyValue, "a duration from 1s to 87600h, or 0s for none"
	return scalar(p, field, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && (d == 0 || d >= MinRunTime && d <= MaxRunTime)
	})
}

// minRuntime completes the entry of a property with a time that allocations run, which children inherit.
func minRuntime(p Property, field func(*Settings) *time.Duration) Property {
	p.Accepted, p.Inherited = "a duration up to 87600h, or 0s for none", AnyValue
	return scalar(p, field, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= 0 && d <= MaxRunTime
	})
}

// alternatives lists values: "a, b or c".
func alternatives[T any](values []T) string {
	words, last := make([]string, len(values)), len(values)-1
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Properties are the known properties, in the order in which they are documented.
func Properties() []Property { return slices.Clone(properties) }

// PropertyNames are the names of the known properties, in the order of Properties.
func PropertyNames() []string {
	names := make([]string, 0, len(properties))
	for i := range properties {
		names = append(names, properties[i].Name)
	}
	return names
}

// FindProperty finds a known property by its name. ok is false if there is none.
func FindProperty(name string) (p Property, ok bool) {
	for i := range properties {
		if properties[i].Name == name {
			return properties[i], true
		}
	}
	return Property{}, false
}

// Accepts reports whether a text is a legal value. An empty text, which means the default, is not.
func (p Property) Accepts(text string) bool { return text != "" && p.read(&Settings{}, text) }

// IsDefaultProperty reports whether a property has the same effect as a missing one. An unknown property has no
// effect, but REST shows it: it is the default only if it is empty.
func IsDefaultProperty(name, value string) bool {
	p, ok := FindProperty(name)
	if !ok || value == "" {
		return value == ""
	}
	s := DefaultSettings()
	p.read(&s, value)
	return p.same(&s, &defaultSettings)
}

// SameProperty reports whether two texts of a property have the same effect. An empty one is a missing property.
func SameProperty(name, a, b string) bool {
	p, ok := FindProperty(name)
	if !ok {
		return a == b
	}
	x, y := DefaultSettings(), DefaultSettings()
	for to, text := range map[*Settings]string{&x: a, &y: b} {
		if text != "" {
			p.read(to, text)
		}
	}
	return p.same(&x, &y)
}

// DefaultSettings are the settings of a queue without properties.
func DefaultSettings() Settings { return ReadSettings(map[string]string{}) }

// defaultSettings has the default value of every property.
var defaultSettings = func() (s Settings) {
	for _, p := range properties {
		p.read(&s, p.Default)
	}
	return s
}()

// ReadSettings parses resolved properties, and keeps the map. A malformed value means the default (QUE-7).
func ReadSettings(resolved map[string]string) Settings {
	s := defaultSettings
	s.Properties = resolved
	for i := range properties {
		if text := resolved[properties[i].Name]; text != "" {
			properties[i].read(&s, text)
		}
	}
	return s
}

// Equal reports whether two settings have the same values and the same properties.
func (s *Settings) Equal(t *Settings) bool {
	for i := range properties {
		if !properties[i].same(s, t) {
			return false
		}
	}
	return maps.Equal(s.Properties, t.Properties)
}

// InheritedProperties are the properties that the children of a configured queue inherit: its resolved properties,
// except those that are not inherited, which have their default (QUE-17, QUE-18). The defaults are written out because
// REST shows them.
//
// application.sort.priority needs no exception, although YuniKorn documents only "disabled" as inherited: any other
// value means "enabled", which is the default.
func InheritedProperties(resolved map[string]string) map[string]string {
	out := maps.Clone(resolved)
	for i := range properties {
		p := &properties[i]
		value, ok := resolved[p.Name]
		if ok && p.Inherited != AnyValue && (p.Inherited == "" || !strings.EqualFold(value, p.Inherited)) {
			out[p.Name] = p.Default
		}
	}
	return out
}
