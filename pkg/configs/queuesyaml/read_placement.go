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

// ruleReader reads one placement rule. Its subject is the rule.
type ruleReader struct {
	*reader
	*validation.Subject
	*placement.Rule
}

// placementRules reads the placement rules of a partition.
func (r *reader) placementRules(p *validation.Partition, n *yaml.Node) []placement.Rule {
	index := -1
	return parts(r, p.Subject, "placementrules", n, func(to *placement.Rule, x *yaml.Node) {
		index++
		r.rule(to, p, index, 1, x)
	})
}

// rule reads a placement rule with its parents, and reports whether it is within the bounds.
func (r *reader) rule(to *placement.Rule, p *validation.Partition, index, level int, n *yaml.Node) bool {
	if level > r.options.MaxDepth {
		r.Add(p.Subject, positionOf(n), "bound-depth",
			fmt.Sprintf("placement rules are nested deeper than max-depth (%d levels)", r.options.MaxDepth), "")
		return false
	}
	r.placementRuleCount++
	if r.placementRuleCount > maxRules {
		if r.placementRuleCount == maxRules+1 {
			r.Add(p.Subject, positionOf(n), "bound-rules",
				fmt.Sprintf("there are more than %d placement rules, parents included", maxRules), "")
		}
		return false
	}
	r.Record(to, n)
	d := ruleReader{r, p.RuleSubject(index, level), to}
	fields := r.fields(d.Subject, "a placement rule", n, &ruleMapping)
	name, valid := r.text(d.Subject, "name", fields["name"]), false
	// otherwise the name may be the part that was not understood
	if misread := r.misreadMappings[n]; !misread || name != "" {
		valid = d.readKind(name) && !misread
	}
	d.Create = r.flag(d.Subject, "create", fields["create"], false)
	value := r.text(d.Subject, "value", fields["value"])
	d.readFilter(fields["filter"])
	if up := fields["parent"]; !isNull(up) {
		d.Parent = &placement.Rule{}
		valid = r.rule(d.Parent, p, index, level+1, up) && valid
	}
	if !valid || !d.readValue(value) {
		r.MarkMisread(to)
	}
	return true
}

// refuse reports a problem of the value of a key, or of the rule.
func (d *ruleReader) refuse(key, rule, message, hint string) {
	d.Add(d.Subject, d.At(d.Rule, key), rule, message, hint)
}

// readKind finds the kind of a placement rule by its name, in any case (V26, L3, CFG-65,
// CFG-66). YuniKorn finds an unknown name only when it loads the document.
func (d *ruleReader) readKind(name string) bool {
	if !rulePattern.MatchString(name) {
		message := "placement rule name " + validation.Quote(name) + " is not legal"
		if name == "" {
			message = "the placement rule has no name"
		}
		d.refuse("name", "V26", message, "one of "+strings.Join(ruleNames, ", "))
		return false
	}
	for _, k := range placement.Kinds() {
		if strings.EqualFold(name, k.String()) {
			d.Kind = k
			return true
		}
	}
	hint := validation.DidYouMean(name, ruleNames)
	switch {
	case strings.EqualFold(name, "recovery"):
		hint = "recovery always comes last by itself and cannot be configured"
	case hint == "":
		hint = "one of " + strings.Join(ruleNames, ", ")
	}
	d.refuse("name", "L3", "unknown placement rule "+validation.Quote(name), hint)
	return false
}

// readValue reads the value that the kind of the rule needs, and reports whether it is legal (L3, CFG-66).
func (d *ruleReader) readValue(value string) bool {
	switch needed := d.Kind.Needs(); {
	case needed == "":
		return true
	case value == "":
		d.refuse("value", "L3", fmt.Sprintf("a %s rule needs %s as value", d.Kind, needed), "")
		return false
	}
	d.Value = value
	return d.Kind != placement.Fixed || d.checkFixedValue()
}

func (d *ruleReader) checkFixedValue() bool {
	d.Value = strings.ToLower(d.Value)
	levels, qualified := validation.SplitValue(d.Value)
	for _, name := range levels {
		if !configs.IsQueueName(name) {
			d.refuse("value", "L3", "the value has the illegal queue name "+validation.Quote(name),
				validation.QueueNameHint)
			return false
		}
	}
	if qualified && d.Parent != nil {
		d.refuse("value", "L3",
			fmt.Sprintf("the value %s begins at root, so the rule cannot have a parent rule", validation.Quote(d.Value)),
			"drop the parent rule, or the root")
		return false
	}
	return true
}

// readFilter reads the filter of a placement rule (CFG-67, CFG-68, PLC-22).
func (d *ruleReader) readFilter(n *yaml.Node) {
	f, fields := &d.Filter, d.fields(d.Subject, "filter", n, &filterMapping)
	switch kind := d.text(d.Subject, "type", fields["type"]); strings.ToLower(kind) {
	case "", "allow":
	case "deny": // in any case: in YuniKorn DENY passes validation and then allows
		f.Deny = true
	default:
		d.Add(d.Subject, positionOf(fields["type"]), "V27", "unknown filter type "+validation.Quote(kind), "allow or deny")
	}
	f.Users, f.UserPattern = d.filterNames("users", fields["users"], security.IsUserName)
	f.Groups, f.GroupPattern = d.filterNames("groups", fields["groups"], security.IsGroupName)
}

// expressionCharacters distinguish a regular expression from a name (CFG-68).
const expressionCharacters = `^$*+?()[{}|`

// maxExpressionLength bounds the cost of compiling and matching a regular expression.
const maxExpressionLength = 1000

// filterNames reads the users or the groups of a filter. A single element may be a regular
// expression; in a longer list every element is a plain name, legal or not (CFG-68, CFG-84).
func (d *ruleReader) filterNames(what string, n *yaml.Node, legal func(string) bool) ([]string, *regexp.Regexp) {
	names := d.texts(d.Subject, what, n)
	if len(names) == 1 {
		return d.filterName(what, names[0], legal)
	}
	for i, name := range names {
		if !legal(name) {
			d.Add(d.Subject, d.At(d.Rule, "filter", what, i), "filter-name",
				fmt.Sprintf("%s has the illegal name %s, which matches nothing", what, validation.Quote(name)),
				"an expression must be the only element of its list")
		}
	}
	return names, nil
}

// filterName applies V28 to the only element of a list.
func (d *ruleReader) filterName(what, text string, legal func(string) bool) ([]string, *regexp.Regexp) {
	refuse := func(reason, hint string) {
		d.Add(d.Subject, d.At(d.Rule, "filter", what, 0), "V28",
			fmt.Sprintf("%s: %s is %s", what, validation.Quote(text), reason), hint)
	}
	if !strings.ContainsAny(text, expressionCharacters) {
		if !legal(text) {
			refuse("neither a legal name nor an expression", "")
		}
		return []string{text}, nil
	}
	if len(text) > maxExpressionLength {
		refuse(fmt.Sprintf("longer than %d bytes", maxExpressionLength), "")
		return nil, nil
	}
	e, err := regexp.Compile(text)
	if err == nil {
		return nil, e
	}
	reason := ""
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		reason = ": " + wrong.Code.String()
	}
	refuse("not a regular expression"+reason, expressionHint(text))
	return nil, nil
}

func expressionHint(text string) string {
	if text == "*" {
		return "a filter without names is for every user"
	}
	return ""
}
