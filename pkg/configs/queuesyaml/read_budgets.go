package queuesyaml

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// budget reads a disruption budget: a Kubernetes PodDisruptionBudget, or the short form without metadata and spec
// (CFG-22). Its key is known before its fields are read, because problems need it as their subject.
func (r *reader) budget(n *yaml.Node, given registry.Key) *validation.BudgetDraft {
	d := &validation.BudgetDraft{ObjectDraft: validation.NewObjectDraft(positionOf(n), "budget-")}
	d.Object.Name = cmp.Or(objectText(n, "name"), given.Name)
	d.Object.Namespace = cmp.Or(objectText(n, "namespace"), given.Namespace, budgets.DefaultNamespace)
	fields := r.fields(d, "a disruption budget", n, &budgetMapping)
	recordPositions(&d.ObjectDraft, fields)
	r.checkObjectKind(d, &d.ObjectDraft, fields, budgetVersion, budgetKind)
	r.objectNames(d, &d.ObjectDraft, fields, string(budgets.NameField), string(budgets.NamespaceField))
	if s := fields["status"]; !isNull(s) && s.Kind != yaml.MappingNode {
		r.wrongType(d, "status", s, "a mapping")
	}
	r.budgetSpec(d, fields)
	r.text(d, "unhealthyPodEvictionPolicy", fields["unhealthyPodEvictionPolicy"])
	d.Object.Selector = r.selector(d, fields[string(budgets.SelectorField)])
	r.allowance(d, fields)
	return d
}

// budgetSpec adds the fields of spec to the fields of the budget. A field in both places is an error.
func (r *reader) budgetSpec(d *validation.BudgetDraft, fields map[string]*yaml.Node) {
	for key, n := range r.fields(d, "spec", fields["spec"], &budgetSpecMapping) {
		switch {
		case isNull(n):
		case isNull(fields[key]):
			fields[key] = n
			d.Positions[key] = positionOf(n)
		default:
			r.AddNamed(d, budgets.Field(key), budgets.DuplicateField,
				fmt.Sprintf("%s is set in spec (line %d) and outside of it", key, n.Line), "write it once")
		}
	}
}

// selector reads the conditions of a selector. An illegal condition is an error.
func (r *reader) selector(d *validation.BudgetDraft, n *yaml.Node) budgets.Selector {
	fields := r.fields(d, "the selector", n, &selectorMapping)
	labels := map[string]string{}
	for _, p := range r.pairs(d, "matchLabels", fields["matchLabels"]) {
		value := r.text(d, "label "+validation.Quote(p.name), p.value)
		r.checkExpression(d, p.key, budgets.Expression{Key: p.name, Operator: budgets.In, Values: []string{value}})
		labels[p.name] = value
	}
	var expressions []budgets.Expression
	for _, x := range r.mappings(d, "matchExpressions", fields["matchExpressions"]) {
		f := r.fields(d, "an expression", x, &expressionMapping)
		e := budgets.Expression{Key: r.text(d, "key", f["key"]),
			Operator: budgets.Operator(r.text(d, "operator", f["operator"]))}
		for _, v := range r.list(d, "values", f["values"]) {
			if isNull(v) {
				r.wrongType(d, "a value", v, "a text")
			}
			e.Values = append(e.Values, r.text(d, "a value", v))
		}
		r.checkExpression(d, x, e)
		expressions = append(expressions, e)
	}
	s := budgets.NewSelector(labels, expressions)
	if s.IsEmpty() && (isNull(n) || n.Kind == yaml.MappingNode) {
		where := d.Position
		if n != nil {
			where = positionOf(n)
		}
		r.Add(d, where, "budget-empty-selector",
			"without conditions the selector selects nothing, so the budget has no effect",
			"name the labels of the allocations under matchLabels")
	}
	return s
}

func (r *reader) checkExpression(d *validation.BudgetDraft, n *yaml.Node, e budgets.Expression) {
	if reason := e.FirstProblem(); reason != "" {
		d.Broken[string(budgets.SelectorField)] = true
		r.Add(d, positionOf(n), "budget-"+string(budgets.InvalidSelector), reason, "")
	}
}

// allowance reads minAvailable, maxUnavailable or allowed. More than one of them is an error.
func (r *reader) allowance(d *validation.BudgetDraft, fields map[string]*yaml.Node) {
	var first budgets.Field
	for _, k := range []budgets.AllowanceKind{budgets.MinAvailable, budgets.MaxUnavailable, budgets.Allowed} {
		f := k.Field()
		n := fields[string(f)]
		switch {
		case isNull(n):
			continue
		case first != "":
			r.AddNamed(d, f, budgets.OneAllowance,
				fmt.Sprintf("both %s (line %d) and %s are set", first, d.PositionOf(string(first)).Line, f),
				"a budget has one of minAvailable, maxUnavailable and allowed")
		default:
			first = f
		}
		d.Object.Allowance = r.numberOrPercent(d, k, n)
	}
}

// numberOrPercent reads a number such as 3 or, except for allowed, a percentage such as 50%.
func (r *reader) numberOrPercent(d *validation.BudgetDraft, k budgets.AllowanceKind, n *yaml.Node) budgets.Allowance {
	f := k.Field()
	if digits, ok := strings.CutSuffix(n.Value, "%"); ok && n.Kind == yaml.ScalarNode && n.Tag == "!!str" &&
		k != budgets.Allowed {
		share, err := strconv.ParseUint(digits, 10, 31)
		if err == nil && share <= 100 {
			return budgets.Allowance{Kind: k, N: int32(share), Percent: true}
		}
		r.AddNamed(d, f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)),
			"a percentage is a whole number from 0% to 100%")
		return budgets.Allowance{Kind: k}
	}
	var count int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&count) != nil || count < 0 || count > math.MaxInt32 {
		hint := "a whole number without quotes, zero or more, or a percentage such as 50%"
		if k == budgets.Allowed {
			hint = "a whole number, zero or more"
		}
		r.AddNamed(d, f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)), hint)
	}
	return budgets.Allowance{Kind: k, N: int32(count)}
}
