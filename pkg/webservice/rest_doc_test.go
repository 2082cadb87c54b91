package webservice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

const restDocIntro = `# REST

Every path of the REST interface, made by a test from the table that also checks parameters, and from the types of the answers.
` + "`GET /ws/v1/openapi.json`" +
	` has the same as an OpenAPI 3.1 document (RST-13). The rules are in [rest.md](behaviour/rest.md) and
[observability.md](behaviour/observability.md).

- Paths marked *YuniKorn* are those of Apache YuniKorn: a parameter that they do not know is ignored, and the header ` + "`Warning`" + `
  names it. The others refuse it with status 400.
- Names in paths are decoded like queries; a slash in a name is ` + "`%2F` or `%252F`" + ` (OBS-13).
- Times are nanoseconds since 1970, quantities are in the smallest unit: ` + "`vcore`" + ` in thousandths, ` +
	"`memory`" + ` in bytes.
- An error is an [Error](#error). Besides the statuses of a path there are 405 for another method, 500 for a fault, 503 with
  ` + "`Retry-After`" +
	` when too many large answers are written or an answer takes too long to make (OBS-103), and 421 or, on the admin listener,
  403 for a host name that is not of the server (RST-4). Every path also answers OPTIONS.
- In a list with pages, ` + "`limit`, `after` and `fields`" + ` select a part of it, and the header ` + "`Link`" +
	` leads to the next one (RST-9).
- An answer of 1,400 bytes or more is compressed for a client that accepts gzip.

The examples are answers about a small cluster, indented here; long ones are cut.
`

// docs/REST.md is what the route table, the types and the answers say. Run with -rewrite after a change, and read the
// diff.
func TestRESTDoc_IsMadeFromTheRouteTable(t *testing.T) {
	o := newContractFixture(t)
	var out strings.Builder
	out.WriteString(restDocIntro)
	d := described()
	for _, section := range webservice.DocumentedRoutes() {
		fmt.Fprintf(&out, "\n## %s\n", section.Title)
		for _, route := range section.Routes {
			operation := d.document["paths"].(map[string]any)[route.Path].(map[string]any)[strings.ToLower(route.Method)].(map[string]any)
			writeOperation(&out, route, operation)
			if route.Example != "" {
				w := o.get(route.Example)
				assert.Equal(t, w.Code, 200, route.Example)
				fmt.Fprintf(&out, "\n```\n$ curl -s '%s%s'\n%s```\n", "localhost:9080", route.Example, exampleText(w.Body.Bytes()))
			}
		}
	}
	out.WriteString("\n## Objects\n\nA field that is not always there is left out when it is empty, zero or false.\n")
	comments := fieldComments(t)
	types := webservice.DocumentedTypes()
	schemas := d.document["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		writeObject(&out, name, types[name], schemas[name].(map[string]any), comments)
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

func writeOperation(out *strings.Builder, route webservice.DocumentedRoute, operation map[string]any) {
	fmt.Fprintf(out, "\n### %s %s\n\n%s.", route.Method, route.Path, operation["summary"])
	if operation["x-yunikorn"] == true {
		out.WriteString(" *YuniKorn*")
	}
	out.WriteString("\n")
	parameters, _ := operation["parameters"].([]any)
	if len(parameters) > 0 {
		out.WriteString("\n| Parameter | In | Type | Meaning |\n|---|---|---|---|\n")
	}
	for _, p := range parameters {
		p := p.(map[string]any)
		value := p["schema"].(map[string]any)
		kind := fmt.Sprint(value["type"])
		if values, ok := value["enum"].([]any); ok {
			kind = strings.Trim(fmt.Sprintf("%q", values), "[]")
			kind = strings.ReplaceAll(strings.ReplaceAll(kind, `" "`, ", "), `"`, "")
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", p["name"], p["in"], kind, p["description"])
	}
	if body, ok := operation["requestBody"].(map[string]any); ok {
		fmt.Fprintf(out, "\nBody: %s. ", body["description"])
		writeContent(out, body["content"].(map[string]any))
	}
	responses := operation["responses"].(map[string]any)
	var failures []string
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		switch {
		case status == "default":
		case status < "400":
			fmt.Fprintf(out, "\nAnswer: status %s. ", status)
			if content, ok := responses[status].(map[string]any)["content"].(map[string]any); ok {
				writeContent(out, content)
			} else {
				out.WriteString("\n")
			}
		default:
			failures = append(failures, status)
		}
	}
	if len(failures) > 0 {
		fmt.Fprintf(out, "\nErrors: %s.\n", strings.Join(failures, ", "))
	}
}

// writeContent writes the content types and what they have.
func writeContent(out *strings.Builder, content map[string]any) {
	var parts []string
	for _, media := range slices.Sorted(maps.Keys(content)) {
		kind := typeText(content[media].(map[string]any)["schema"].(map[string]any))
		name, _, _ := strings.Cut(media, ";")
		if name == "*/*" {
			parts = append(parts, "any content type: "+kind)
			continue
		}
		parts = append(parts, fmt.Sprintf("`%s`: %s", name, kind))
	}
	out.WriteString(strings.Join(parts, "; ") + ".\n")
}

// typeText is a schema in words.
func typeText(schema map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
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

// exampleLines is how many lines of an answer an example has.
const exampleLines = 24

var (
	instance = regexp.MustCompile(`"InstanceUUID": "[^"]+"`)
	checksum = regexp.MustCompile(`((?:c|C)hecksum"?: )"?[0-9A-F]{64}"?`)
)

// exampleText is an answer as an example: indented, without what differs between runs, and cut.
func exampleText(answer []byte) string {
	text := withoutAudits(string(answer))
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = pretty.String()
	}
	text = instance.ReplaceAllString(text, `"InstanceUUID": "6f1e1f4c-7d5e-4b0a-9a53-0d6b3c1f2a77"`)
	text = checksum.ReplaceAllString(text, `$1"5D..."`)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > exampleLines {
		lines = append(lines[:exampleLines], "...")
	}
	return strings.Join(lines, "\n") + "\n"
}

func writeObject(out *strings.Builder, name string, typ reflect.Type, schema map[string]any,
	comments map[string]map[string]string) {
	fmt.Fprintf(out, "\n### %s\n\n", name)
	required, _ := schema["required"].([]any)
	properties := schema["properties"].(map[string]any)
	out.WriteString("| Field | Type | Always | Meaning |\n|---|---|---|---|\n")
	var visit func(typ reflect.Type)
	visit = func(typ reflect.Type) {
		for i := range typ.NumField() {
			field := typ.Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && key == "":
				visit(field.Type)
				continue
			case key == "":
				key = field.Name
			}
			value, ok := properties[key].(map[string]any)
			if !ok {
				continue
			}
			always := ""
			if slices.Contains(required, any(key)) {
				always = "yes"
			}
			fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", key, typeText(value), always,
				strings.ReplaceAll(comments[typ.Name()][field.Name], "|", "\\|"))
		}
	}
	visit(typ)
}

// fieldComments are the comments of fields by type, from the source.
func fieldComments(t *testing.T) map[string]map[string]string {
	t.Helper()
	comments := map[string]map[string]string{}
	for _, dir := range []string{".", "dao", "../configs/diff"} {
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
					comments[spec.Name.Name] = commentsOf(body)
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
