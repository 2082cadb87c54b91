package queuesyaml

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maxRules bounds the placement rules of a document (CFG-16). Each rule may have regular
// expressions, and a text of many short ones that compile to long programs took half a minute.
const maxRules = 1000

// rule reads a placement rule with its parents, or returns nil when it is past a bound.
func (r *reader) rule(p *partitionDraft, label string, n *yaml.Node, level int) *ruleDraft {
	d := &ruleDraft{position: positionOf(n), partition: p, label: label}
	if level > r.options.MaxDepth {
		r.add(p, d.position, "bound-depth", fmt.Sprintf("placement rules are nested deeper than max-depth (%d levels)",
			r.options.MaxDepth), "")
		return nil
	}
	if r.placementRuleCount++; r.placementRuleCount > maxRules {
		if r.placementRuleCount == maxRules+1 {
			r.add(p, d.position, "bound-rules", fmt.Sprintf("there are more than %d placement rules, parents included", maxRules), "")
		}
		return nil
	}
	fields := r.fields(d, "a placement rule", n, &ruleMapping)
	if name := fields["name"]; name != nil {
		d.position = positionOf(name)
	}
	name := r.text(d, "name", fields["name"])
	if misread := r.misreadMappings[n]; !misread || name != "" { // otherwise the name may be the part that was not understood
		d.kind, d.valid = r.ruleKind(d, name)
		d.valid = d.valid && !misread
	}
	d.create = r.flag(d, "create", fields["create"], false)
	d.value = token{d.position, r.text(d, "value", fields["value"])}
	if v := fields["value"]; v != nil {
		d.value.position = positionOf(v)
	}
	d.filter = r.filter(d, fields["filter"])
	if up := fields["parent"]; !isNull(up) {
		d.parent = r.rule(p, label+".parent", up, level+1)
		d.valid = d.valid && d.parent != nil
	}
	if d.valid {
		d.valid = r.ruleValue(d)
	}
	return d
}

// ruleKind finds the kind of a placement rule by its name, in any case (V26, L3, CFG-65,
// CFG-66). YuniKorn finds an unknown name only when it loads the document.
func (r *reader) ruleKind(d *ruleDraft, name string) (placement.Kind, bool) {
	if !rulePattern.MatchString(name) {
		message := "placement rule name " + quote(name) + " is not legal"
		if name == "" {
			message = "the placement rule has no name"
		}
		r.add(d, d.position, "V26", message, "one of "+strings.Join(ruleNames, ", "))
		return 0, false
	}
	for k := placement.Provided; k <= placement.Tag; k++ {
		if strings.EqualFold(name, k.String()) {
			return k, true
		}
	}
	hint := suggestion(name, ruleNames)
	switch {
	case strings.EqualFold(name, "recovery"):
		hint = "recovery always comes last by itself and cannot be configured"
	case hint == "":
		hint = "one of " + strings.Join(ruleNames, ", ")
	}
	r.add(d, d.position, "L3", "unknown placement rule "+quote(name), hint)
	return 0, false
}

// ruleValue reports whether a rule has the value that its kind needs (L3, CFG-66).
func (r *reader) ruleValue(d *ruleDraft) bool {
	switch d.kind {
	case placement.Tag:
		if d.value.text == "" {
			r.add(d, d.value.position, "L3", "a tag rule needs the name of a tag as value", "")
			return false
		}
	case placement.Fixed:
		return r.fixedValue(d)
	}
	return true
}

func (r *reader) fixedValue(d *ruleDraft) bool {
	d.value.text = strings.ToLower(d.value.text)
	if d.value.text == "" {
		r.add(d, d.value.position, "L3", "a fixed rule needs a queue as value", "")
		return false
	}
	levels, qualified := splitValue(d.value.text)
	for _, name := range levels {
		if !configs.IsQueueName(name) {
			r.add(d, d.value.position, "L3", "the value has the illegal queue name "+quote(name), queueNameHint)
			return false
		}
	}
	if qualified && d.parent != nil {
		r.add(d, d.value.position, "L3",
			fmt.Sprintf("the value %s begins at root, so the rule cannot have a parent rule", quote(d.value.text)),
			"drop the parent rule, or the root")
		return false
	}
	return true
}

// splitValue splits the value of a fixed rule into levels below root or below the queue of the
// parent rule. Only "root" and values with the prefix "root." are qualified (PLC-13); YuniKorn
// also takes rootfoo for qualified, and panics later.
func splitValue(value string) (levels []string, qualified bool) {
	if value == configs.RootQueue {
		return nil, true
	}
	below, qualified := strings.CutPrefix(value, configs.RootQueue+".")
	return strings.Split(below, "."), qualified
}

// filter reads the filter of a placement rule (CFG-67, CFG-68, PLC-22).
func (r *reader) filter(d *ruleDraft, n *yaml.Node) placement.Filter {
	var f placement.Filter
	fields := r.fields(d, "filter", n, &filterMapping)
	switch kind := r.text(d, "type", fields["type"]); strings.ToLower(kind) {
	case "", "allow":
	case "deny": // in any case: in YuniKorn DENY passes validation and then allows
		f.Deny = true
	default:
		r.add(d, positionOf(fields["type"]), "V27", "unknown filter type "+quote(kind), "allow or deny")
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
	d *ruleDraft, what string, n *yaml.Node, legal func(string) bool,
) ([]string, *regexp.Regexp) {
	list := r.tokens(d, what, n)
	if len(list) == 1 {
		return r.filterName(d, what, list[0], legal)
	}
	var names []string
	for _, w := range list {
		names = append(names, w.text)
		if !legal(w.text) {
			r.add(d, w.position, "filter-name",
				fmt.Sprintf("%s has the illegal name %s, which matches nothing", what, quote(w.text)),
				"an expression must be the only element of its list")
		}
	}
	return names, nil
}

// filterName applies V28 to the only element of a list.
func (r *reader) filterName(
	d *ruleDraft, what string, w token, legal func(string) bool,
) ([]string, *regexp.Regexp) {
	if !strings.ContainsAny(w.text, expressionCharacters) {
		if !legal(w.text) {
			r.add(d, w.position, "V28",
				fmt.Sprintf("%s: %s is neither a legal name nor an expression", what, quote(w.text)), "")
		}
		return []string{w.text}, nil
	}
	if len(w.text) > maxExpressionLength {
		r.add(d, w.position, "V28",
			fmt.Sprintf("%s: %s is longer than %d bytes", what, quote(w.text), maxExpressionLength), "")
		return nil, nil
	}
	e, err := regexp.Compile(w.text)
	if err == nil {
		return nil, e
	}
	reason := ""
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		reason = ": " + wrong.Code.String()
	}
	r.add(d, w.position, "V28", fmt.Sprintf("%s: %s is not a regular expression%s", what, quote(w.text), reason),
		expressionHint(w.text))
	return nil, nil
}

func expressionHint(text string) string {
	if text == "*" {
		return "a filter without names is for every user"
	}
	return ""
}
