package configs

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

func TestSettings_Defaults(t *testing.T) {
	assert.DeepEqual(t, DefaultSettings(), Settings{
		PreemptionDelay: 30 * time.Second, QuotaSettle: 5 * time.Minute, UnschedAskBackoffDelay: 30 * time.Second,
		RunTime: RunTime{Grace: 30 * time.Second}, Properties: map[string]string{},
	})
}

func TestSettings_ReadFromProperties(t *testing.T) {
	want := func(change func(*Settings)) Settings {
		s := DefaultSettings()
		change(&s)
		return s
	}
	for _, c := range []struct {
		name, property, text string
		want                 Settings
	}{
		{"a sort policy", SortPolicyProperty, "fair", want(func(s *Settings) { s.AppSort = policies.Fair })},
		{"stateaware is a policy of its own", SortPolicyProperty, "stateaware",
			want(func(s *Settings) { s.AppSort = policies.StateAware })},
		{"sort policies are case-sensitive", SortPolicyProperty, "Fair", DefaultSettings()},
		{"application.sort.priority disabled, in any case", "application.sort.priority", "DisAbled",
			want(func(s *Settings) { s.PrioritySort = policies.PriorityIgnored })},
		{"another value means enabled", "application.sort.priority", "no", DefaultSettings()},
		{"a priority fence, in any case", PriorityPolicyProperty, "FeNce",
			want(func(s *Settings) { s.PriorityPolicy = policies.PriorityFence })},
		{"an unknown priority policy", PriorityPolicyProperty, "disabled", DefaultSettings()},
		{"the lowest offset", PriorityOffsetProperty, "-2147483648",
			want(func(s *Settings) { s.PriorityOffset = -2147483648 })},
		{"the highest offset", PriorityOffsetProperty, "2147483647",
			want(func(s *Settings) { s.PriorityOffset = 2147483647 })},
		{"an offset with a plus sign", PriorityOffsetProperty, "+5", want(func(s *Settings) { s.PriorityOffset = 5 })},
		{"an offset with leading zeroes", PriorityOffsetProperty, "007", want(func(s *Settings) { s.PriorityOffset = 7 })},
		{"an offset beyond 32 bits is malformed", PriorityOffsetProperty, "2147483648", DefaultSettings()},
		{"an offset with a space is malformed", PriorityOffsetProperty, " 5", DefaultSettings()},
		{"an offset in hex is malformed", PriorityOffsetProperty, "0x10", DefaultSettings()},
		{"an offset with an underscore is malformed", PriorityOffsetProperty, "1_000", DefaultSettings()},
		{"a preemption fence, in any case", "preemption.policy", "FENCE",
			want(func(s *Settings) { s.PreemptionPolicy = policies.PreemptFence })},
		{"preemption disabled, in any case", "preemption.policy", "Disabled",
			want(func(s *Settings) { s.PreemptionPolicy = policies.PreemptDisabled })},
		{"preemption by priority in the leaf, in any case", PriorityPreemptionProperty, "Leaf",
			want(func(s *Settings) { s.PriorityPreemption = policies.PriorityPreemptionLeaf })},
		{"preemption by priority up to the fence", PriorityPreemptionProperty, "fence",
			want(func(s *Settings) { s.PriorityPreemption = policies.PriorityPreemptionFence })},
		{"an unknown value of preemption.priority", PriorityPreemptionProperty, "enabled", DefaultSettings()},
		{"a preemption delay", "preemption.delay", "1m30s",
			want(func(s *Settings) { s.PreemptionDelay = 90 * time.Second })},
		{"a preemption delay of zero is malformed", "preemption.delay", "0s", DefaultSettings()},
		{"a negative preemption delay is malformed", "preemption.delay", "-5s", DefaultSettings()},
		{"a quota preemption delay", QuotaPreemptionDelayProperty, "5m",
			want(func(s *Settings) { s.QuotaPreemptionDelay = 5 * time.Minute })},
		{"a quota preemption delay of zero is off", QuotaPreemptionDelayProperty, "0s", DefaultSettings()},
		{"a negative quota preemption delay is malformed", QuotaPreemptionDelayProperty, "-5m", DefaultSettings()},
		{"a back-off", BackoffProperty, "5", want(func(s *Settings) { s.UnschedAskBackoff = 5 })},
		{"a negative back-off is malformed", BackoffProperty, "-5", DefaultSettings()},
		{"a back-off delay", "application.unschedasks.backoff.delay", "10s",
			want(func(s *Settings) { s.UnschedAskBackoffDelay = 10 * time.Second })},
		{"a delay without a unit is malformed", "application.unschedasks.backoff.delay", "10", DefaultSettings()},
		{"a child template reaches existing leaves", ExistingLeavesProperty, "Update",
			want(func(s *Settings) { s.UpdatesLeaves = true })},
		{"a child template reaches new leaves only", ExistingLeavesProperty, "keep", DefaultSettings()},
		{"a template cannot be applied", ExistingLeavesProperty, "apply", DefaultSettings()},
		{"a run time", RunTimeMaxProperty, "24h", want(func(s *Settings) { s.RunTime.Max = 24 * time.Hour })},
		{"no run time", RunTimeMaxProperty, "0s", DefaultSettings()},
		{"a run time below a second is malformed", RunTimeDefaultProperty, "999ms", DefaultSettings()},
		{"a run time above ten years is malformed", RunTimeMaxProperty, "87601h", DefaultSettings()},
		{"longer wishes are cut, in any case", "runtime.excess", "Cut", want(func(s *Settings) { s.RunTime.Cut = true })},
		{"a grace of zero", "runtime.grace", "0s", want(func(s *Settings) { s.RunTime.Grace = 0 })},
		{"an empty text is the default", PriorityPolicyProperty, "", DefaultSettings()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ReadSettings(map[string]string{c.property: c.text})
			c.want.Properties = map[string]string{c.property: c.text}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

// Each field of Settings has an entry whose default and words are legal, and whose default has no effect.
func TestProperties_DescribeEveryField(t *testing.T) {
	fields := reflect.TypeFor[Settings]().NumField() - 1 + reflect.TypeFor[RunTime]().NumField() - 1 +
		reflect.TypeFor[policies.Fairness]().NumField() - 1
	assert.Equal(t, len(properties), fields,
		"Properties itself has no entry, RunTime and Fairness have one for each of their fields")
	for _, p := range Properties() {
		for _, text := range append(p.Words, p.Default) {
			assert.Assert(t, p.Accepts(text), "%s: %q", p.Name, text)
		}
		assert.Assert(t, IsDefaultProperty(p.Name, p.Default), p.Name)
		assert.Assert(t, p.Inherited == AnyValue || p.Inherited == "" || p.Accepts(p.Inherited), p.Name)
		assert.Assert(t, strings.HasSuffix(p.Sentence, ".") && p.Accepted != "", p.Name)
		changed := false
		for _, text := range append(p.Words, "1m1s", "7") {
			a, b := ReadSettings(map[string]string{p.Name: text}), DefaultSettings()
			b.Properties = a.Properties
			changed = changed || !a.Equal(&b)
		}
		assert.Assert(t, changed, "no value of %s has an effect", p.Name)
	}
}

// docs/behaviour/queues.md has the table of properties.
func TestProperties_TableInDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/behaviour/queues.md")
	assert.NilError(t, err)
	table := "| Property | Values | Default | Inherited | What it sets |\n|---|---|---|---|---|\n"
	for _, p := range Properties() {
		inherited := map[string]string{AnyValue: "yes", "": "no"}[p.Inherited]
		if inherited == "" {
			inherited = "only `" + p.Inherited + "`"
		}
		table += fmt.Sprintf("| `%s` | %s | `%s` | %s | %s |\n", p.Name, p.Accepted, p.Default, inherited, p.Sentence)
	}
	assert.Assert(t, strings.Contains(string(text), table), "it should have this table:\n%s", table)
}
