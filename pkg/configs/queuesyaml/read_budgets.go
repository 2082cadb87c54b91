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
func (r *reader) budget(b *budgets.Budget, n *yaml.Node, given registry.Key) {
	b.Name = cmp.Or(objectText(n, "name"), given.Name)
	b.Namespace = cmp.Or(objectText(n, "namespace"), given.Namespace, budgets.DefaultNamespace)
	d := budgetReader{r, validation.SubjectOf(b), b}
	fields := r.fields(d.Subject, "a disruption budget", n, &budgetMapping)
	objectHead(r, b, fields, budgetVersion, budgetKind, string(budgets.NameField), string(budgets.NamespaceField))
	if s := fields["status"]; !isNull(s) && s.Kind != yaml.MappingNode {
		r.wrongType(d.Subject, "status", s, "a mapping")
	}
	d.readSpec(fields)
	r.text(d.Subject, "unhealthyPodEvictionPolicy", fields["unhealthyPodEvictionPolicy"])
	d.readSelector(n, fields[string(budgets.SelectorField)])
	d.readAllowance(fields)
}

// budgetReader reads the fields of one budget. Its subject is the budget.
type budgetReader struct {
	*reader
	*validation.Subject
	*budgets.Budget
}

// refuse reports a problem of a field.
func (d *budgetReader) refuse(f budgets.Field, reason budgets.Reason, message, hint string) {
	validation.AddNamed(&d.Report, d.Budget, f, reason, message, hint)
}

// readSpec adds the fields of spec to the fields of the budget. A field in both places is an error.
func (d *budgetReader) readSpec(fields map[string]*yaml.Node) {
	for key, n := range d.fields(d.Subject, "spec", fields["spec"], &budgetSpecMapping) {
		switch {
		case isNull(n):
		case isNull(fields[key]):
			fields[key] = n
		default:
			d.refuse(budgets.Field(key), budgets.DuplicateField,
				fmt.Sprintf("%s is set in spec (line %d) and outside of it", key, n.Line), "write it once")
		}
	}
}

// readSelector reads the conditions of a selector in the budget at the node of. An illegal condition is an error.
func (d *budgetReader) readSelector(of, n *yaml.Node) {
	r, o := d.reader, d.Subject
	fields := r.fields(o, "the selector", n, &selectorMapping)
	labels := map[string]string{}
	for _, p := range r.pairs(o, "matchLabels", fields["matchLabels"]) {
		value := r.text(o, "label "+validation.Quote(p.name), p.value)
		d.checkExpression(p.key, budgets.Expression{Key: p.name, Operator: budgets.In, Values: []string{value}})
		labels[p.name] = value
	}
	var expressions []budgets.Expression
	for _, x := range r.mappings(o, "matchExpressions", fields["matchExpressions"]) {
		f := r.fields(o, "an expression", x, &expressionMapping)
		e := budgets.Expression{Key: r.text(o, "key", f["key"]),
			Operator: budgets.Operator(r.text(o, "operator", f["operator"]))}
		for _, v := range r.list(o, "values", f["values"]) {
			if isNull(v) {
				r.wrongType(o, "a value", v, "a text")
			}
			e.Values = append(e.Values, r.text(o, "a value", v))
		}
		d.checkExpression(x, e)
		expressions = append(expressions, e)
	}
	d.Selector = budgets.NewSelector(labels, expressions)
	if d.Selector.IsEmpty() && (isNull(n) || n.Kind == yaml.MappingNode) {
		r.Add(o, positionOf(cmp.Or(n, of)), "budget-empty-selector",
			"without conditions the selector selects nothing, so the budget has no effect",
			"name the labels of the allocations under matchLabels")
	}
}

func (d *budgetReader) checkExpression(n *yaml.Node, e budgets.Expression) {
	if reason := e.FirstProblem(); reason != "" {
		validation.MarkFieldMisread(&d.Report, d.Budget, budgets.SelectorField)
		d.Add(d.Subject, positionOf(n), "budget-"+string(budgets.InvalidSelector), reason, "")
	}
}

// readAllowance reads minAvailable, maxUnavailable or allowed. More than one of them is an error.
func (d *budgetReader) readAllowance(fields map[string]*yaml.Node) {
	var first budgets.Field
	for _, k := range []budgets.AllowanceKind{budgets.MinAvailable, budgets.MaxUnavailable, budgets.Allowed} {
		f := k.Field()
		n := fields[string(f)]
		switch {
		case isNull(n):
			continue
		case first != "":
			d.refuse(f, budgets.OneAllowance,
				fmt.Sprintf("both %s (line %d) and %s are set", first, d.FieldAt(d.Budget, first).Line, f),
				"a budget has one of minAvailable, maxUnavailable and allowed")
		default:
			first = f
		}
		d.Allowance = d.numberOrPercent(k, n)
	}
}

// numberOrPercent reads a number such as 3 or, except for allowed, a percentage such as 50%.
func (d *budgetReader) numberOrPercent(k budgets.AllowanceKind, n *yaml.Node) budgets.Allowance {
	f := k.Field()
	if digits, ok := strings.CutSuffix(n.Value, "%"); ok && n.Kind == yaml.ScalarNode && n.Tag == "!!str" &&
		k != budgets.Allowed {
		share, err := strconv.ParseUint(digits, 10, 31)
		if err == nil && share <= 100 {
			return budgets.Allowance{Kind: k, N: int32(share), Percent: true}
		}
		d.refuse(f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)),
			"a percentage is a whole number from 0% to 100%")
		return budgets.Allowance{Kind: k}
	}
	var count int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&count) != nil || count < 0 || count > math.MaxInt32 {
		hint := "a whole number without quotes, zero or more, or a percentage such as 50%"
		if k == budgets.Allowed {
			hint = "a whole number, zero or more"
		}
		d.refuse(f, budgets.InvalidAllowance, fmt.Sprintf("%s is %s", f, describe(n)), hint)
	}
	return budgets.Allowance{Kind: k, N: int32(count)}
}
