package queuesyaml

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

// budgetDraft is a disruption budget with the positions of its fields.
type budgetDraft struct {
	objectDraft
	budget budgets.Budget
}

func (d *budgetDraft) path() string { return "disruption budget " + d.budget.ID() }

// budgets reads the disruption budgets: Kubernetes PodDisruptionBudgets, or the short form
// without metadata and spec (CFG-22).
func (r *reader) budgets(n *yaml.Node) []*budgetDraft {
	var out []*budgetDraft
	for _, x := range r.mappings(nil, budgetsKey, n) {
		out = append(out, r.budget(newBudget(x), x))
	}
	return out
}

// newBudget is a draft with name and namespace only, which problems need as their subject.
func newBudget(n *yaml.Node) *budgetDraft {
	d := &budgetDraft{objectDraft: newObject(n, "budget-")}
	d.budget.Name = objectText(n, "name")
	d.budget.Namespace = cmp.Or(objectText(n, "namespace"), budgets.DefaultNamespace)
	return d
}

func (r *reader) budget(d *budgetDraft, n *yaml.Node) *budgetDraft {
	fields := r.fields(d, "a disruption budget", n, &budgetMapping)
	d.recordPositions(fields)
	r.checkObjectKind(d, &d.objectDraft, fields, budgetVersion, budgetKind)
	r.objectNames(d, &d.objectDraft, fields, string(budgets.NameField), string(budgets.NamespaceField))
	if s := fields["status"]; !isNull(s) && s.Kind != yaml.MappingNode {
		r.wrongType(d, "status", s, "a mapping")
	}
	r.budgetSpec(d, fields)
	r.text(d, "unhealthyPodEvictionPolicy", fields["unhealthyPodEvictionPolicy"])
	d.budget.Selector = r.selector(d, fields[string(budgets.SelectorField)])
	r.allowance(d, fields)
	return d
}

// budgetSpec adds the fields of spec to the fields of the budget. A field in both places is an error.
func (r *reader) budgetSpec(d *budgetDraft, fields map[string]*yaml.Node) {
	for key, n := range r.fields(d, "spec", fields["spec"], &budgetSpecMapping) {
		switch {
		case isNull(n):
		case isNull(fields[key]):
			fields[key] = n
			d.positions[key] = positionOf(n)
		default:
			r.addBudget(d, budgets.Field(key), budgets.DuplicateField,
				fmt.Sprintf("%s is set in spec (line %d) and outside of it", key, n.Line), "write it once")
		}
	}
}

// selector reads the conditions of a selector. An illegal condition is an error.
func (r *reader) selector(d *budgetDraft, n *yaml.Node) budgets.Selector {
	fields := r.fields(d, "the selector", n, &selectorMapping)
	labels := map[string]string{}
	for _, p := range r.pairs(d, "matchLabels", fields["matchLabels"]) {
		value := r.text(d, "label "+quote(p.name), p.value)
		r.checkExpression(d, p.key, budgets.Expression{Key: p.name, Operator: budgets.In, Values: []string{value}})
		labels[p.name] = value
	}
	var expressions []budgets.Expression
	for _, x := range r.mappings(d, "matchExpressions", fields["matchExpressions"]) {
		f := r.fields(d, "an expression", x, &expressionMapping)
		e := budgets.Expression{Key: r.text(d, "key", f["key"]), Operator: budgets.Operator(r.text(d, "operator", f["operator"]))}
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
		where := d.position
		if n != nil {
			where = positionOf(n)
		}
		r.add(d, where, "budget-empty-selector", "without conditions the selector selects nothing, so the budget has no effect",
			"name the labels of the allocations under matchLabels")
	}
	return s
}

func (r *reader) checkExpression(d *budgetDraft, n *yaml.Node, e budgets.Expression) {
	if reason := e.FirstProblem(); reason != "" {
		d.broken[string(budgets.SelectorField)] = true
		r.add(d, positionOf(n), "budget-"+string(budgets.InvalidSelector), reason, "")
	}
}

// allowance reads minAvailable, maxUnavailable or allowed. More than one of them is an error.
func (r *reader) allowance(d *budgetDraft, fields map[string]*yaml.Node) {
	var first budgets.Field
	for _, k := range []budgets.AllowanceKind{budgets.MinAvailable, budgets.MaxUnavailable, budgets.Allowed} {
		f := k.Field()
		n := fields[string(f)]
		switch {
		case isNull(n):
			continue
		case first != "":
			r.addBudget(d, f, budgets.OneAllowance, fmt.Sprintf("both %s (line %d) and %s are set", first, d.positionOf(string(first)).line, f),
				"a budget has one of minAvailable, maxUnavailable and allowed")
		default:
			first = f
		}
		d.budget.Allowance = r.numberOrPercent(d, k, n)
	}
}

// numberOrPercent reads a number such as 3 or, except for allowed, a percentage such as 50%.
func (r *reader) numberOrPercent(d *budgetDraft, k budgets.AllowanceKind, n *yaml.Node) budgets.Allowance {
	f := k.Field()
	if digits, ok := strings.CutSuffix(n.Value, "%"); ok && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && k != budgets.Allowed {
		share, err := strconv.ParseUint(digits, 10, 31)
		if err == nil && share <= 100 {
			return budgets.Allowance{Kind: k, N: int32(share), Percent: true}
		}
		r.addBudget(d, f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)), "a percentage is a whole number from 0% to 100%")
		return budgets.Allowance{Kind: k}
	}
	var count int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&count) != nil || count < 0 || count > math.MaxInt32 {
		hint := "a whole number without quotes, zero or more, or a percentage such as 50%"
		if k == budgets.Allowed {
			hint = "a whole number, zero or more"
		}
		r.addBudget(d, f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)), hint)
	}
	return budgets.Allowance{Kind: k, N: int32(count)}
}

// checkBudgets applies the rules of package budgets.
func (r *report) checkBudgets(drafts []*budgetDraft) {
	first := map[string]*budgetDraft{}
	for _, d := range drafts {
		for _, p := range d.budget.Check() {
			if !d.broken[string(p.Field)] {
				r.addBudget(d, p.Field, p.Reason, p.Text, "")
			}
		}
		id := d.budget.ID()
		if other := first[id]; other != nil && d.budget.Name != "" {
			r.addBudget(d, budgets.NameField, budgets.AlreadyExists, fmt.Sprintf("the namespace has a budget of this name in line %d already",
				other.positionOf(string(budgets.NameField)).line), "")
			continue
		}
		first[id] = d
	}
}

// addBudget reports a problem. Its rule is "budget-" and the reason that REST returns.
func (r *report) addBudget(d *budgetDraft, f budgets.Field, reason budgets.Reason, message, hint string) {
	r.addObject(d, &d.objectDraft, string(f), string(reason), message, hint)
}

// buildBudgets makes the registry. Requires: the drafts were checked and have no errors.
func buildBudgets(drafts []*budgetDraft) budgets.Registry {
	all := make([]budgets.Budget, len(drafts))
	for i, d := range drafts {
		all[i] = d.budget
	}
	r, err := budgets.New(all...)
	if err != nil {
		panic(fmt.Sprintf("queuesyaml: budgets passed the checks, but not budgets.New: %v", err))
	}
	return r
}
