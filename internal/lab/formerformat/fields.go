package formerformat

import (
	"reflect"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// commandTypes has the command of each number.
var commandTypes = []reflect.Type{
	0:  nil,
	1:  reflect.TypeFor[scheduler.UseConfig](),
	2:  reflect.TypeFor[scheduler.DrainPartition](),
	3:  reflect.TypeFor[scheduler.ResetPartition](),
	4:  reflect.TypeFor[scheduler.AddNode](),
	5:  reflect.TypeFor[scheduler.SetCapacity](),
	6:  reflect.TypeFor[scheduler.SetAttributes](),
	7:  reflect.TypeFor[scheduler.SetSchedulable](),
	8:  reflect.TypeFor[scheduler.RemoveNode](),
	9:  reflect.TypeFor[scheduler.AddApplication](),
	10: reflect.TypeFor[scheduler.RemoveApplication](),
	11: reflect.TypeFor[scheduler.SubmitAsk](),
	12: reflect.TypeFor[scheduler.SubmitAskWithClass](),
	13: reflect.TypeFor[scheduler.ReportAllocation](),
	14: reflect.TypeFor[scheduler.Release](),
	15: reflect.TypeFor[scheduler.ReportForeign](),
	16: reflect.TypeFor[scheduler.ReleaseForeign](),
	17: reflect.TypeFor[scheduler.SetListening](),
	18: reflect.TypeFor[scheduler.Operate](),
	19: reflect.TypeFor[scheduler.RestoreOperators](),
	20: reflect.TypeFor[scheduler.Wake](),
	21: reflect.TypeFor[scheduler.RejectAsk](),
}

// structFields has the fields of each struct; the number of a field is its index, from 1. The names are those that the
// types have now.
var structFields = map[reflect.Type][]string{
	reflect.TypeFor[recording.Begin](): {"Options", "Partition", "Oracle", "Restart", "Operators", "NotListening",
		"Draining"},

	reflect.TypeFor[scheduler.UseConfig]():         {"Partition"},
	reflect.TypeFor[scheduler.DrainPartition]():    {},
	reflect.TypeFor[scheduler.ResetPartition]():    {"Reason"},
	reflect.TypeFor[scheduler.AddNode]():           {"Node", "Total", "Attributes", "Schedulable"},
	reflect.TypeFor[scheduler.SetCapacity]():       {"Node", "Total"},
	reflect.TypeFor[scheduler.SetAttributes]():     {"Node", "Attributes"},
	reflect.TypeFor[scheduler.SetSchedulable]():    {"Node", "Schedulable"},
	reflect.TypeFor[scheduler.RemoveNode]():        {"Node"},
	reflect.TypeFor[scheduler.AddApplication]():    {"App", "User", "Queue", "Tags", "Refused", "Gang"},
	reflect.TypeFor[scheduler.RemoveApplication](): {"App"},
	reflect.TypeFor[scheduler.SubmitAsk]():         {"Ask"},
	reflect.TypeFor[scheduler.SubmitAskWithClass](): {"Ask", "RejectReason", "RejectKind", "Class", "NamedClass",
		"AllowedUsers"},
	reflect.TypeFor[scheduler.ReportAllocation](): {"Ask", "Node", "Class"},
	reflect.TypeFor[scheduler.Release]():          {"App", "Key", "Type", "Scope", "NodeRefused", "Message"},
	reflect.TypeFor[scheduler.RejectAsk]():        {"Rejected"},
	reflect.TypeFor[scheduler.AskRejected]():      {"Key", "App", "Kind", "Reason", "Reported"},
	reflect.TypeFor[scheduler.ReportForeign]():    {"Foreign"},
	reflect.TypeFor[scheduler.ReleaseForeign]():   {"Key"},
	reflect.TypeFor[scheduler.SetListening]():     {"Listening"},
	reflect.TypeFor[scheduler.Operate]():          {"Action", "App", "Queue", "From", "Node", "By"},
	reflect.TypeFor[scheduler.RestoreOperators](): {"State"},
	reflect.TypeFor[scheduler.Wake]():             {},
	reflect.TypeFor[scheduler.OperatorState](): {"Held", "Stopped", "Cordoned", "Draining", "Drained", "Moved",
		"Admitted"},
	reflect.TypeFor[scheduler.MovedApplication](): {"App", "Queue", "Moved"},

	reflect.TypeFor[objects.Ask](): {"Key", "App", "Amounts", "Created", "Details", "Priority", "Placeholder",
		"Originator", "Policy"},
	reflect.TypeFor[objects.AskDetails](): {"TaskGroup", "RequiredNode", "Tags"},
	reflect.TypeFor[objects.Foreign]():    {"Key", "Node", "Amounts", "Static", "Tags"},
	reflect.TypeFor[objects.Moved]():      {"From", "At", "By"},
	reflect.TypeFor[objects.Options](): {"Shapes", "Lifetimes", "Names", "AskNames", "Candidates", "Evaluations",
		"Refusals", "RefusedNodes", "PreemptionHistory"},
	reflect.TypeFor[lifecycle.Lifetimes](): {"Completing", "Completed", "Rejected", "MaxEnded", "New"},
	reflect.TypeFor[security.User]():       {"Name", "Groups"},
	reflect.TypeFor[gangs.Spec]():          {"Requested", "Timeout", "Created", "Style", "Virtual"},
	reflect.TypeFor[gangs.VirtualGroup]():  {"Name", "MinMember", "MinResources", "Topology"},
	reflect.TypeFor[gangs.Topology]():      {"Levels", "Required", "Preferred"},

	reflect.TypeFor[configs.Partition](): {
		"Name", "Root", "PlacementRules", "NodeSortPolicy", "PriorityDisabled", "PreemptionEnabled", "QuotaPreemptionEnabled",
		"NodePressureEnabled",
		"UserGroupResolver", "Budgets", "ClassesNeedingQuota", "NominationTimeout", "Churn", "Reservation",
		"NodePressureGrace",
		"NodeRefusal",
	},
	reflect.TypeFor[configs.Queue](): {
		"Name", "Parent", "Max", "Guaranteed", "MaxApplications", "SubmitACL", "AdminACL", "Limits", "ClassQuotas",
		"ChildTemplate", "Settings", "Children",
	},
	reflect.TypeFor[configs.ChildTemplate](): {"MaxApplications", "Max", "Guaranteed", "Settings"},
	reflect.TypeFor[configs.Settings](): {
		"AppSort", "PrioritySort", "PriorityPolicy", "PriorityOffset", "PreemptionPolicy", "PriorityPreemption", "VictimUnit",
		"GangPreemption", "BudgetPolicy",
		"VictimOrder", "VictimQoS", "PreemptionDelay", "PriorityPreemptionDelay", "QuotaPreemptionDelay", "UnschedAskBackoff",
		"UnschedAskBackoffDelay", "Properties", "UpdatesLeaves",
	},
	reflect.TypeFor[configs.Churn]():           {"CircuitBreaker", "Cycles", "Window", "CoolDown"},
	reflect.TypeFor[configs.Reservation]():     {"Enabled", "Delay", "Timeout", "NodePercent"},
	reflect.TypeFor[refusals.Settings]():       {"Backoff", "MaxBackoff", "Asks"},
	reflect.TypeFor[limits.Limit]():            {"Description", "Users", "Groups", "MaxResources", "MaxApplications"},
	reflect.TypeFor[limits.ClassQuota]():       {"Name", "Match", "Users", "Groups", "Hard"},
	reflect.TypeFor[limits.Selector]():         {"Operator", "Classes"},
	reflect.TypeFor[placement.Rule]():          {"Kind", "Create", "Value", "Filter", "Parent"},
	reflect.TypeFor[placement.Filter]():        {"Deny", "Users", "Groups", "UserPattern", "GroupPattern"},
	reflect.TypeFor[policies.NodeSortPolicy](): {"Sort", "Weights"},
	reflect.TypeFor[policies.Weight]():         {"Resource", "Weight"},
	reflect.TypeFor[budgets.Budget]():          {"Namespace", "Name", "Selector", "Allowance"},
	reflect.TypeFor[budgets.Expression]():      {"Key", "Operator", "Values"},
	reflect.TypeFor[budgets.Allowance]():       {"Kind", "N", "Percent"},
	reflect.TypeFor[selectorParts]():           {"Labels", "Expressions"},
	reflect.TypeFor[accessList]():              {"Everyone", "Users", "Groups"},
}
