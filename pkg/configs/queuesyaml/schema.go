package queuesyaml

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// schema is the part of JSON Schema (2020-12) that a queues.yaml needs.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Deprecated  bool               `json:"deprecated,omitempty"` // editors strike such keys out
	Ref         string             `json:"$ref,omitempty"`
	Type        []string           `json:"type,omitempty"`
	Enum        []any              `json:"enum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	Examples    []string           `json:"examples,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	// Additional is false, or the schema of keys that are not in Properties; nil: any value.
	Additional any                `json:"additionalProperties,omitempty"`
	Defs       map[string]*schema `json:"$defs,omitempty"`
}

// Schema is the JSON Schema (2020-12) of queues.yaml, for editors and other checkers (CFG-21).
// It is made from the tables that Load uses, so it has exactly the same keys.
//
// The schema accepts every document that Load accepts, and refuses unknown and missing keys and
// values of the wrong kind or form. Rules that compare several values, such as a guarantee
// above its max, are checked by Load only. So are spellings that exist in YAML only: a schema
// validates the JSON form of the document.
func Schema() []byte {
	top := documentMapping.schema()
	top.Schema = "https://json-schema.org/draft/2020-12/schema"
	top.Title = "queues.yaml"
	top.Description = "The partitions, queues, limits, placement rules, priority classes and disruption budgets of a " +
		"cluster."
	top.Defs = map[string]*schema{"quantities": quantitiesSchema(""), "quota": quantitiesSchema(percentPattern),
		"properties": settingsSchema()}
	for name, m := range mappings {
		if m != &documentMapping {
			top.Defs[name] = m.schema()
		}
	}
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("queuesyaml: the schema cannot be written: %v", err))
	}
	return append(text, '\n')
}

func (m *mapping) schema() *schema {
	s := &schema{Type: []string{"object", "null"}, Properties: map[string]*schema{}, Additional: false}
	for _, k := range *m {
		s.Properties[k.name] = k.schema()
		if k.required {
			s.Required = append(s.Required, k.name)
		}
	}
	return s
}

// schema describes the value of a key, which may be null unless the key is required.
func (k *key) schema() *schema {
	s := k.value.schema(k)
	s.Description = k.description
	switch {
	case k.required, s.Ref != "": // a referenced schema allows null already
	case len(s.AnyOf) > 0:
		s.AnyOf = append(s.AnyOf, &schema{Type: []string{"null"}})
	case len(s.Enum) > 0:
		s.Enum = append(s.Enum, nil)
	case !slices.Contains(s.Type, "null"):
		s.Type = append(s.Type, "null")
	}
	return s
}

func (v valueKind) schema(k *key) *schema {
	switch v {
	case textValue, durationValue:
		s := textSchema()
		s.Examples = k.words
		return s
	case queueNameValue:
		return &schema{Type: []string{"string", "number", "boolean"}, Pattern: configs.QueueNamePattern()}
	case wordValue:
		return &schema{AnyOf: []*schema{{Enum: anys(k.words)}, {Type: []string{"string"}, Pattern: inAnyCase(k.words)}}}
	case exactWordValue:
		return &schema{Enum: anys(k.words)}
	case flagValue:
		return &schema{Enum: append([]any{true, false}, anys(yamlFlags)...)}
	case countValue:
		return &schema{Type: []string{"integer"}, Minimum: new(int)}
	case int32Value:
		least, most := math.MinInt32, math.MaxInt32
		return &schema{Type: []string{"integer"}, Minimum: &least, Maximum: &most}
	case objectValue:
		s := &schema{Type: []string{"object"}, Properties: map[string]*schema{}}
		for _, w := range k.words {
			s.Properties[w] = textSchema()
		}
		return s
	case labelsValue:
		return &schema{Type: []string{"object"}, Additional: textSchema()}
	case numberOrPercentValue:
		most := math.MaxInt32
		return &schema{AnyOf: []*schema{
			{Type: []string{"integer"}, Minimum: new(int), Maximum: &most},
			{Type: []string{"string"}, Pattern: `^0*(100|[0-9]{1,2})%$`},
		}}
	case textList:
		return &schema{Type: []string{"array"}, Items: textSchema()}
	case quantitiesValue:
		return &schema{Ref: "#/$defs/quantities"}
	case quotaValue:
		return &schema{Ref: "#/$defs/quota"}
	case weightsValue:
		return &schema{Type: []string{"object"}, Additional: &schema{Type: []string{"number"}, Minimum: new(int)}}
	case settingsValue:
		return &schema{Ref: "#/$defs/properties"}
	case mappingValue:
		return &schema{Ref: "#/$defs/" + k.mappingName}
	case mappingList:
		return &schema{Type: []string{"array"}, Items: &schema{Type: []string{"object"}, Ref: "#/$defs/" + k.mappingName}}
	}
	panic(fmt.Sprintf("queuesyaml: key %s has a value of kind %d", k.name, v))
}

// textSchema accepts any scalar: numbers and booleans are texts as they are written (CFG-9).
func textSchema() *schema { return &schema{Type: []string{"string", "number", "boolean", "null"}} }

// percentPattern is resources.ParsePercent as an alternative of a regular expression, without its range.
const percentPattern = `|[0-9]+(\.[0-9]{1,2})?[ \t]*%`

// quantitiesSchema is resources.Parse as a regular expression. Only the range of a number, which
// an expression cannot check, is left to Load. percent is the expression of a percent; empty: it is not legal.
func quantitiesSchema(percent string) *schema {
	of := func(resource, about string) *schema {
		suffixes := strings.Join(resources.Suffixes(resource), "|")
		return &schema{Description: about, Type: []string{"string", "integer"}, Minimum: new(int),
			Pattern: `^\s*([0-9]+[ \t]*(` + suffixes + `)?` + percent + `)\s*$`}
	}
	about := "Resource to quantity: a whole number, perhaps with a unit."
	if percent != "" {
		about = "Resource to quantity: a whole number, perhaps with a unit; or a percent, such as 40%."
	}
	s := &schema{
		Type:        []string{"object", "null"},
		Description: about,
		Properties: map[string]*schema{
			resources.VCore:            of(resources.VCore, "Cores, such as 2, or thousandths, such as 500m."),
			resources.Memory:           of(resources.Memory, "Bytes, such as 16Gi; 10 alone is ten bytes."),
			resources.EphemeralStorage: of(resources.EphemeralStorage, "Bytes of local disk, such as 100Gi."),
			"pods":                     of("pods", "Number of allocations."),
		},
		Additional: of("", "Units of the resource, by the name that nodes report, such as nvidia.com/gpu."),
	}
	for _, name := range []string{"cpu", "cpus", "cores", "vcores", "vCore", "Vcore", "mem", "Memory", "ram", "pod"} {
		known := validation.WellKnownResource(name)
		s.Properties[name] = of("", fmt.Sprintf("Probably %s is meant: this is another resource, called %s.", known, name))
		s.Properties[name].Deprecated = true
	}
	return s
}

// settingsSchema describes the known properties. Unknown properties and malformed values are
// legal, because Load only warns of them.
func settingsSchema() *schema {
	s := &schema{Type: []string{"object", "null"}, Properties: map[string]*schema{}, Additional: textSchema()}
	for _, p := range configs.Properties() {
		value := textSchema()
		value.Description = fmt.Sprintf("%s Legal: %s. Default: %s.", p.Sentence, p.Accepted, p.Default)
		value.Examples = p.Words
		s.Properties[p.Name] = value
	}
	return s
}

// yamlFlags are the booleans of YAML 1.1 besides true and false.
var yamlFlags = []string{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
	"OFF"}

func anys(words []string) []any {
	var out []any
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

// inAnyCase is a regular expression for the words in any case, without the flag (?i), which not every
// engine has.
func inAnyCase(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte('|')
		}
		for _, c := range w {
			fmt.Fprintf(&b, "[%c%c]", unicode.ToLower(c), unicode.ToUpper(c))
		}
	}
	return "^(" + b.String() + ")$"
}
