package queuesyaml

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	assert.NilError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	assert.NilError(t, c.AddResource("queues.schema.json", doc))
	s, err := c.Compile("queues.schema.json")
	assert.NilError(t, err)
	return s
}

// asJSON is the JSON form of the first document of a text. ok is false if the text has no JSON
// form.
func asJSON(text string) (doc any, ok bool) {
	if yaml.Unmarshal([]byte(text), &doc) != nil {
		return nil, false
	}
	return plainValue(doc), true
}

func plainValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = plainValue(x[k])
		}
	case map[any]any:
		out := map[string]any{}
		for k, e := range x {
			if s, ok := k.(string); ok {
				out[s] = plainValue(e)
			} else {
				out["key that is no text"] = plainValue(e)
			}
		}
		return out
	case []any:
		for i := range x {
			x[i] = plainValue(x[i])
		}
	case time.Time:
		return x.Format(time.DateOnly)
	}
	return v
}

func TestSchema_AcceptsExamples(t *testing.T) {
	s := compiledSchema(t)
	files, err := filepath.Glob("../../../examples/*.yaml")
	assert.NilError(t, err)
	shims, err := filepath.Glob("../../../examples/shim-*/queues.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) >= 2 && len(shims) >= 3)
	files = append(files, shims...)
	for _, name := range append(files, "testdata/production.yaml", "default.yaml") {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		if _, problems := Load(text); problems.HasErrors() {
			continue // another kind of file
		}
		doc, ok := asJSON(string(text))
		assert.Assert(t, ok, name)
		assert.NilError(t, s.Validate(doc), name)
	}
}

// schemaRules are the rules that the schema checks too.
var schemaRules = []string{"yaml-unknown-key", "yaml-type", "V2", "V5", "V26", "V27", "V30", "V31", "quantity", "L2",
	"class-invalid-policy", "class-invalid-value", "budget-invalid-allowance", "classquota-operator"}

func TestSchema_AgreesWithLoad(t *testing.T) {
	s := compiledSchema(t)
	refused := 0
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		config, problems := Load([]byte(text))
		doc, ok := asJSON(text)
		if !ok {
			continue
		}
		err := s.Validate(doc)
		if config != nil {
			assert.NilError(t, err, "%s: Load accepts it", c.name)
			continue
		}
		if slices.ContainsFunc(problems, func(p validation.Problem) bool { return slices.Contains(schemaRules, p.RuleID) }) {
			refused++
			assert.Assert(t, err != nil, "%s: Load refuses its structure:\n%s", c.name, problems)
		}
	}
	assert.Assert(t, refused > 10, "%d documents with a broken structure", refused)
}

func TestSchema_ErrorsNameThePath(t *testing.T) {
	s := compiledSchema(t)
	for _, c := range []struct{ name, text, want string }{
		{"an unknown key", "partitions: [{queues: [{name: root, submitACL: '*'}]}]",
			"at '/partitions/0/queues/0': additional properties 'submitACL' not allowed"},
		{"a missing key", "partitions: [{name: default}]", "at '/partitions/0': missing property 'queues'"},
		{"a wrong kind", "partitions: [{queues: [{name: root, maxapplications: many}]}]",
			"at '/partitions/0/queues/0/maxapplications': got string, want null or integer"},
		{"an unknown key in a nested rule",
			"partitions: [{queues: [], placementrules: [{name: user, parent: {name: fixed, value: a, filter: {user: [b]}}}]}]",
			"additional properties 'user' not allowed"},
		{"a quantity", "partitions: [{queues: [{name: a, resources: {max: {memory: 5m}}}]}]", "'5m' does not match pattern"},
		{"a fraction", "partitions: [{queues: [{name: a, resources: {max: {memory: 1.5}}}]}]",
			"at '/partitions/0/queues/0/resources/max/memory': got number, want integer or string"},
		{"an unknown placement rule", "partitions: [{queues: [], placementrules: [{name: tags}]}]",
			"at '/partitions/0/placementrules/0/name': 'anyOf' failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, _ := Load([]byte(c.text))
			assert.Assert(t, config == nil)
			doc, _ := asJSON(c.text)
			assert.ErrorContains(t, s.Validate(doc), c.want)
		})
	}
}

func TestSchema_DescribesEveryKey(t *testing.T) {
	for name, m := range mappings {
		for _, k := range *m {
			assert.Assert(t, strings.HasSuffix(k.description, "."), "%s.%s", name, k.name)
			if k.mappingName != "" {
				assert.Assert(t, mappings[k.mappingName] != nil, "%s.%s is of %s", name, k.name, k.mappingName)
			}
		}
	}
	for _, p := range configs.Properties() {
		for _, w := range p.Words {
			assert.Assert(t, p.Accepts(w), "%s: %s is an example", p.Name, w)
		}
		assert.Assert(t, len(p.Words) > 0, p.Name)
	}
	for _, s := range resources.Suffixes("memory") {
		_, err := resources.Parse("memory", "1"+s)
		assert.NilError(t, err)
	}
}

// FuzzSchema checks that the schema accepts every document that Load accepts (CFG-21).
func FuzzSchema(f *testing.F) {
	s := compiledSchema(f)
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add(text)
	}
	f.Add(string(Default()))
	f.Fuzz(func(t *testing.T, text string) {
		config, _ := Load([]byte(text))
		if config == nil {
			return
		}
		if doc, ok := asJSON(text); ok {
			assert.NilError(t, s.Validate(doc))
		}
	})
}

// The schema marks the resource names that Load warns of as deprecated (CFG-21).
func TestSchema_DeprecatesMisnamedResources(t *testing.T) {
	var s struct {
		Defs struct {
			Quantities struct {
				Properties map[string]struct {
					Description string
					Deprecated  bool
				}
			}
		} `json:"$defs"`
	}
	assert.NilError(t, json.Unmarshal(Schema(), &s))
	for name, want := range map[string]string{"cpu": "Probably vcore is meant", "mem": "Probably memory is meant",
		"Memory": "Probably memory is meant"} {
		p := s.Defs.Quantities.Properties[name]
		assert.Assert(t, p.Deprecated && strings.HasPrefix(p.Description, want), "%s: %+v", name, p)
	}
	for _, name := range []string{"vcore", "memory", "pods", "ephemeral-storage"} {
		p, ok := s.Defs.Quantities.Properties[name]
		assert.Assert(t, ok && !p.Deprecated, name)
	}
}
