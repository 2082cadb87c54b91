package queuesyaml

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maxRules bounds the placement rules of a document (CFG-16). Each rule may have regular
// expressions, and a text of many short ones that compile to long programs took half a minute.
const maxRules = 1000

// rulePattern is the pattern of the names of placement rules (CFG-65).
var rulePattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// rule reads a placement rule with its parents, or returns nil when it is past a bound.
func (r *reader) rule(p *validation.PartitionDraft, label string, n *yaml.Node,
	level int) *validation.PlacementRuleDraft {
	d := &validation.PlacementRuleDraft{Position: positionOf(n), Partition: p, Label: label}
	if level > r.options.MaxDepth {
		r.Add(p, d.Position, "bound-depth", fmt.Sprintf("placement rules are nested deeper than max-depth (%d levels)",
			r.options.MaxDepth), "")
		return nil
	}
	r.placementRuleCount++
	if r.placementRuleCount > maxRules {
		if r.placementRuleCount == maxRules+1 {
			r.Add(p, d.Position, "bound-rules",
				fmt.Sprintf("there are more than %d placement rules, parents included", maxRules), "")
		}
		return nil
	}
	fields := r.fields(d, "a placement rule", n, &ruleMapping)
	if name := fields["name"]; name != nil {
		d.Position = positionOf(name)
	}
	name := r.text(d, "name", fields["name"])
	// otherwise the name may be the part that was not understood
	if misread := r.misreadMappings[n]; !misread || name != "" {
		d.Kind, d.Valid = r.ruleKind(d, name)
		d.Valid = d.Valid && !misread
	}
	d.Create = r.flag(d, "create", fields["create"], false)
	d.Value = validation.TokenAt(d.Position, r.text(d, "value", fields["value"]))
	if v := fields["value"]; v != nil {
		d.Value.Position = positionOf(v)
	}
	d.Filter = r.filter(d, fields["filter"])
	if up := fields["parent"]; !isNull(up) {
		d.Parent = r.rule(p, label+".parent", up, level+1)
		d.Valid = d.Valid && d.Parent != nil
	}
	if d.Valid {
		d.Valid = r.ruleValue(d)
	}
	return d
}

// ruleKind finds the kind of a placement rule by its name, in any case (V26, L3, CFG-65,
// CFG-66). YuniKorn finds an unknown name only when it loads the document.
func (r *reader) ruleKind(d *validation.PlacementRuleDraft, name string) (placement.Kind, bool) {
	if !rulePattern.MatchString(name) {
		message := "placement rule name " + validation.Quote(name) + " is not legal"
		if name == "" {
			message = "the placement rule has no name"
		}
		r.Add(d, d.Position, "V26", message, "one of "+strings.Join(ruleNames, ", "))
		return 0, false
	}
	for _, k := range placement.Kinds() {
		if strings.EqualFold(name, k.String()) {
			return k, true
		}
	}
	hint := validation.DidYouMean(name, ruleNames)
	switch {
	case strings.EqualFold(name, "recovery"):
		hint = "recovery always comes last by itself and cannot be configured"
	case hint == "":
		hint = "one of " + strings.Join(ruleNames, ", ")
	}
	r.Add(d, d.Position, "L3", "unknown placement rule "+validation.Quote(name), hint)
	return 0, false
}

// ruleValue reports whether a rule has the value that its kind needs (L3, CFG-66).
func (r *reader) ruleValue(d *validation.PlacementRuleDraft) bool {
	if needed := d.Kind.Needs(); needed != "" && d.Value.Text == "" {
		r.Add(d, d.Value.Position, "L3", fmt.Sprintf("a %s rule needs %s as value", d.Kind, needed), "")
		return false
	}
	return d.Kind != placement.Fixed || r.fixedValue(d)
}

func (r *reader) fixedValue(d *validation.PlacementRuleDraft) bool {
	d.Value.Text = strings.ToLower(d.Value.Text)
	levels, qualified := validation.SplitValue(d.Value.Text)
	for _, name := range levels {
		if !configs.IsQueueName(name) {
			r.Add(d, d.Value.Position, "L3", "the value has the illegal queue name "+validation.Quote(name),
				validation.QueueNameHint)
			return false
		}
	}
	if qualified && d.Parent != nil {
		r.Add(d, d.Value.Position, "L3",
			fmt.Sprintf("the value %s begins at root, so the rule cannot have a parent rule", validation.Quote(d.Value.Text)),
			"drop the parent rule, or the root")
		return false
	}
	return true
}

// filter reads the filter of a placement rule (CFG-67, CFG-68, PLC-22).
func (r *reader) filter(d *validation.PlacementRuleDraft, n *yaml.Node) placement.Filter {
	var f placement.Filter
	fields := r.fields(d, "filter", n, &filterMapping)
	switch kind := r.text(d, "type", fields["type"]); strings.ToLower(kind) {
	case "", "allow":
	case "deny": // in any case: in YuniKorn DENY passes validation and then allows
		f.Deny = true
	default:
		r.Add(d, positionOf(fields["type"]), "V27", "unknown filter type "+validation.Quote(kind), "allow or deny")
	}
	f.Users, f.UserPattern = r.filterNames(d, "users", fields["users"], security.IsUserName)
	f.Groups, f.GroupPattern = r.filterNames(d, "groups", fields["groups"], security.IsGroupName)
	return f
}

// expressionCharacters distinguish a regular expression from a name (CFG-68).
const expressionCharacters = `^$*+?()[{}|`

// maxExpressionLength bounds the cost of compiling and matching a regular expression.
const maxExpressionLength = 1000

// filterNames reads the users or the groups of a filter. A single element may be a regular
// expression; in a longer list every element is a plain name, legal or not (CFG-68, CFG-84).
func (r *reader) filterNames(
	d *validation.PlacementRuleDraft, what string, n *yaml.Node, legal func(string) bool,
) ([]string, *regexp.Regexp) {
	list := r.tokens(d, what, n)
	if len(list) == 1 {
		return r.filterName(d, what, list[0], legal)
	}
	var names []string
	for _, w := range list {
		names = append(names, w.Text)
		if !legal(w.Text) {
			r.Add(d, w.Position, "filter-name",
				fmt.Sprintf("%s has the illegal name %s, which matches nothing", what, validation.Quote(w.Text)),
				"an expression must be the only element of its list")
		}
	}
	return names, nil
}

// filterName applies V28 to the only element of a list.
func (r *reader) filterName(
	d *validation.PlacementRuleDraft, what string, w validation.Token, legal func(string) bool,
) ([]string, *regexp.Regexp) {
	if !strings.ContainsAny(w.Text, expressionCharacters) {
		if !legal(w.Text) {
			r.Add(d, w.Position, "V28",
				fmt.Sprintf("%s: %s is neither a legal name nor an expression", what, validation.Quote(w.Text)), "")
		}
		return []string{w.Text}, nil
	}
	if len(w.Text) > maxExpressionLength {
		r.Add(d, w.Position, "V28",
			fmt.Sprintf("%s: %s is longer than %d bytes", what, validation.Quote(w.Text), maxExpressionLength), "")
		return nil, nil
	}
	e, err := regexp.Compile(w.Text)
	if err == nil {
		return nil, e
	}
	reason := ""
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		reason = ": " + wrong.Code.String()
	}
	r.Add(d, w.Position, "V28",
		fmt.Sprintf("%s: %s is not a regular expression%s", what, validation.Quote(w.Text), reason),
		expressionHint(w.Text))
	return nil, nil
}

func expressionHint(text string) string {
	if text == "*" {
		return "a filter without names is for every user"
	}
	return ""
}
