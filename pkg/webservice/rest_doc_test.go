package webservice_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// restDocIntro begins the document. A ^ is a backtick; NODES and ERROR are answers.
const restDocIntro = `# REST

Every path of the REST interface, and what the names in its answers do not say. A test makes this file from the route
table, which also checks parameters, and from the types of the answers. ^GET /ws/v1/openapi.json^ describes all of it in
OpenAPI 3.1, with every field and its type, and ^pkg/webservice/testdata^ has complete answers. The rules are in
[rest.md](behaviour/rest.md) and [observability.md](behaviour/observability.md).

- *YuniKorn* marks the paths of Apache YuniKorn: they ignore an unknown parameter and name it in the header
  ^Warning^. The other paths refuse it with status 400.
- *Admin* marks the paths of the admin listener (^canopy serve --admin^).
- Names in paths are decoded like queries; a slash in a name is ^%2F^ or ^%252F^ (OBS-13).
- Times are nanoseconds since 1970, quantities are in the smallest unit: ^vcore^ in thousandths, ^memory^ in bytes.
- Answers are JSON with status 200 unless something else is said.
- An error is an ^Error^: 400 for a malformed request, 403 for one that is not permitted, 404 for an unknown
  name, 405 for another method, 421 (403 on the admin listener) for a host name that is not the server's (RST-4), 500
  for a fault, and 503 with ^Retry-After^ when too many large answers are being written or an answer takes too long
  (OBS-103). A path names the other statuses that it has. Every path also answers OPTIONS.
- In a list with pages, ^limit^, ^after^ and ^fields^ select a part, and the header ^Link^ leads to the next one
  (RST-9).
- An answer of 1,400 bytes or more is compressed for a client that accepts gzip.

For example, two fields of the first node, and the error for a name that is unknown:

^^^
$ curl -s 'localhost:9080/ws/v1/partition/default/nodes?limit=1&fields=nodeID,schedulable'
NODES
$ curl -s localhost:9080/ws/v1/partition/default/node/n9
ERROR
^^^
`

// docs/REST.md is what the route table, the types and the answers say. Run with -rewrite after a change, and read the
// diff.
func TestRESTDoc_IsMadeFromTheRouteTable(t *testing.T) {
	o := newContractFixture(t)
	var out strings.Builder
	answer := func(target string) string {
		return strings.TrimSpace(o.get("/ws/v1/partition/default/" + target).Body.String())
	}
	out.WriteString(strings.NewReplacer(
		"^", "`", "NODES", answer("nodes?limit=1&fields=nodeID,schedulable"), "ERROR", answer("node/n9"),
	).Replace(restDocIntro))
	d := described()
	paths := d.document["paths"].(map[string]any)
	operationOf := func(route webservice.DocumentedRoute) map[string]any {
		return paths[route.Path].(map[string]any)[strings.ToLower(route.Method)].(map[string]any)
	}
	var all []map[string]any
	for _, section := range webservice.DocumentedRoutes() {
		for _, route := range section.Routes {
			all = append(all, operationOf(route))
		}
	}
	shared := writeSharedParameters(&out, all)
	for _, section := range webservice.DocumentedRoutes() {
		fmt.Fprintf(&out, "\n## %s\n\n", section.Title)
		for _, route := range section.Routes {
			writeOperation(&out, route, operationOf(route), shared)
		}
	}
	out.WriteString("\n## Objects\n\n" +
		"Fields whose names do not say all; `field?` is left out when it is empty, zero or false.\n" +
		"openapi.json has every field and its type.\n")
	comments := fieldComments(t)
	types := webservice.DocumentedTypes()
	schemas := d.document["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fields := explainedFields(types[name], schemas[name].(map[string]any), comments)
		if len(fields) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n### %s\n\n", name)
		for _, text := range fields {
			writeItem(&out, text)
		}
	}
	file := filepath.Join("..", "..", "docs", "REST.md")
	if *rewrite {
		assert.NilError(t, os.WriteFile(file, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Assert(t, out.String() == string(want),
		"docs/REST.md is not what the code says: go test ./pkg/webservice -run RESTDoc -rewrite")
}

// parametersOf returns the parameters of an operation in the path, or those in the query.
func parametersOf(operation map[string]any, in string) (selected []map[string]any) {
	all, _ := operation["parameters"].([]any)
	for _, p := range all {
		if p := p.(map[string]any); p["in"] == in {
			selected = append(selected, p)
		}
	}
	return selected
}

// writeSharedParameters writes the parameters of paths, and those of queries that three paths or more have. It returns
// the texts of the latter.
func writeSharedParameters(out *strings.Builder, operations []map[string]any) map[string]bool {
	inPaths, uses := map[string]bool{}, map[string]int{}
	for _, operation := range operations {
		for _, p := range parametersOf(operation, "path") {
			inPaths[parameterText(p)] = true
		}
		for _, p := range parametersOf(operation, "query") {
			uses[parameterText(p)]++
		}
	}
	shared := map[string]bool{}
	for text, n := range uses {
		if n >= 3 {
			shared[text] = true
		}
	}
	out.WriteString("\n## Parameters\n\nIn paths:\n\n")
	for _, text := range slices.Sorted(maps.Keys(inPaths)) {
		writeItem(out, text+".")
	}
	out.WriteString("\nIn queries of several paths:\n\n")
	for _, text := range slices.Sorted(maps.Keys(shared)) {
		writeItem(out, text+".")
	}
	return shared
}

// parameterText returns the name of a parameter, its type or values, and its description.
func parameterText(p map[string]any) string {
	value := p["schema"].(map[string]any)
	text := fmt.Sprintf("`%s`", p["name"])
	if values, ok := value["enum"].([]any); ok {
		var names []string
		for _, v := range values {
			names = append(names, fmt.Sprint(v))
		}
		text += " (" + strings.Join(names, ", ") + ")"
	} else if value["type"] != "string" {
		text += fmt.Sprintf(" (%s)", value["type"])
	}
	return fmt.Sprintf("%s: %s", text, p["description"])
}

// Statuses of errors that the introduction explains.
var commonErrors = []string{"400", "403", "404", "500", "503"}

// writeOperation writes what a route does, its body, its answer and its parameters.
func writeOperation(
	out *strings.Builder, route webservice.DocumentedRoute, operation map[string]any, shared map[string]bool,
) {
	full := fmt.Sprint(operation["summary"])
	summary := strings.Replace(full, ", on the admin listener", "", 1)
	text := fmt.Sprintf("`%s %s`", route.Method, route.Path)
	if operation["x-yunikorn"] == true {
		text += " *YuniKorn*"
	}
	if summary != full {
		text += " *Admin*"
	}
	text += ": " + summary + "."
	if body, ok := operation["requestBody"].(map[string]any); ok {
		text += fmt.Sprintf(" Body: %s; %s.", body["description"], contentText(body["content"].(map[string]any)))
	}
	text += answerText(operation["responses"].(map[string]any))
	var known, own []string
	for _, p := range parametersOf(operation, "query") {
		if parameter := parameterText(p); shared[parameter] {
			known = append(known, fmt.Sprintf("`%s`", p["name"]))
		} else {
			own = append(own, parameter)
		}
	}
	if len(known) > 0 {
		text += " Query: " + strings.Join(known, ", ") + "."
	}
	writeItem(out, text)
	for _, parameter := range own {
		writeWrapped(out, "  - ", "    ", parameter+".")
	}
}

// answerText returns what an operation answers with, and the statuses of its errors.
func answerText(responses map[string]any) (text string) {
	var failures []string
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		switch {
		case status == "default" || slices.Contains(commonErrors, status):
		case status < "400":
			content, _ := responses[status].(map[string]any)["content"].(map[string]any)
			text = " Answer: " + strings.Trim(strings.TrimPrefix(status, "200")+", "+contentText(content), ", ") + "."
		default:
			failures = append(failures, status)
		}
	}
	if len(failures) > 0 {
		text += " Errors: " + strings.Join(failures, ", ") + "."
	}
	return text
}

// contentText returns what a body has, and its content types if they are not JSON alone. Types of YAML count as one.
func contentText(content map[string]any) string {
	var kinds, media []string
	for _, full := range slices.Sorted(maps.Keys(content)) {
		name, _, _ := strings.Cut(full, ";")
		if kind := typeText(content[full].(map[string]any)["schema"].(map[string]any)); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		switch {
		case strings.HasSuffix(name, "json"):
			name = "JSON"
		case strings.HasSuffix(name, "yaml"):
			name = "YAML"
		case name == "*/*":
			name = "any content type"
		}
		if !slices.Contains(media, name) {
			media = append(media, name)
		}
	}
	text := strings.Join(kinds, " or ")
	if len(media) > 0 && !slices.Equal(media, []string{"JSON"}) {
		text += " (" + strings.Join(media, ", ") + ")"
	}
	return text
}

// docColumns is how long the lines of the document may be, where they have spaces.
const docColumns = 110

// writeItem writes an item of a list, on lines of docColumns.
func writeItem(out *strings.Builder, text string) { writeWrapped(out, "- ", "  ", text) }

func writeWrapped(out *strings.Builder, first, next, text string) {
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > docColumns:
			out.WriteString(line + "\n")
			line = next + word
		default:
			line += " " + word
		}
	}
	out.WriteString(line + "\n")
}

// typeText is a schema in words.
func typeText(schema map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		return name
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		var parts []string
		for _, x := range choices {
			parts = append(parts, typeText(x.(map[string]any)))
		}
		return strings.Join(parts, " or ")
	}
	switch schema["type"] {
	case nil:
		return "any JSON"
	case "array":
		return "list of " + typeText(schema["items"].(map[string]any))
	case "object":
		if below, ok := schema["additionalProperties"].(map[string]any); ok {
			return "map of " + typeText(below)
		}
	case "string":
		if schema["format"] == "date-time" {
			return "time, RFC 3339"
		}
		if schema["pattern"] != nil {
			return "number in a text"
		}
		return "text"
	}
	return fmt.Sprint(schema["type"])
}

// explainedFields returns the fields of an object that have a comment, with it.
func explainedFields(typ reflect.Type, schema map[string]any, comments map[string]map[string]string) (texts []string) {
	required, _ := schema["required"].([]any)
	properties := schema["properties"].(map[string]any)
	for field := range fieldsOf(typ) {
		comment := comments[field.owner][field.name]
		if _, shown := properties[field.key]; !shown || comment == "" || field.owner != typ.Name() {
			continue
		}
		key := field.key
		if !slices.Contains(required, any(field.key)) {
			key += "?"
		}
		texts = append(texts, fmt.Sprintf("`%s`: %s", key, comment))
	}
	return texts
}

// documentedField is a field of a struct: its name in JSON and in Go, and the struct that declares it.
type documentedField struct{ key, name, owner string }

// fieldsOf returns the fields of a struct, with those of embedded ones in their place.
func fieldsOf(typ reflect.Type) iter.Seq[documentedField] {
	return func(yield func(documentedField) bool) {
		for _, field := range reflect.VisibleFields(typ) {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous && key == "" {
				continue
			}
			owner := typ
			if len(field.Index) > 1 {
				owner = typ.FieldByIndex(field.Index[:len(field.Index)-1]).Type
			}
			if !yield(documentedField{cmp.Or(key, field.Name), field.Name, owner.String()}) {
				return
			}
		}
	}
}

// fieldComments are the comments of fields by type, such as dao.Node, from the source.
func fieldComments(t *testing.T) map[string]map[string]string {
	t.Helper()
	comments := map[string]map[string]string{}
	for _, dir := range []string{"../scheduler", "../explain", "../preemption", "../preemption/victim", ".", "dao",
		"../configs/diff"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		assert.NilError(t, err)
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			assert.NilError(t, err)
			ast.Inspect(file, func(node ast.Node) bool {
				spec, ok := node.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if body, ok := spec.Type.(*ast.StructType); ok && !strings.HasSuffix(name, "_test.go") {
					comments[file.Name.Name+"."+spec.Name.Name] = commentsOf(body)
				}
				return true
			})
		}
	}
	return comments
}

func commentsOf(body *ast.StructType) map[string]string {
	out := map[string]string{}
	for _, field := range body.Fields.List {
		text := field.Comment.Text()
		if text == "" {
			text = field.Doc.Text()
		}
		for _, name := range field.Names {
			out[name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
	return out
}
