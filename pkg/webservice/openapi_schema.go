package webservice

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// JSON schemas of the bodies of answers, from their types.

// schema is a JSON schema as it is encoded.
type schema map[string]any

// schemas makes schemas. Those of structs are components that others refer to.
type schemas struct {
	components map[string]schema
	types      map[string]reflect.Type // of the components
}

func newSchemas() *schemas {
	return &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}}
}

// problemBody has the fields of a validation.Problem, which writes its JSON itself.
type problemBody struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// of is the schema of a type.
func (s *schemas) of(t reflect.Type) schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[objects.Timestamp]():
		return s.of(reflect.TypeFor[int64]())
	case t == reflect.TypeFor[resources.Amounts]():
		return s.of(reflect.TypeFor[dao.Quantities]())
	case t == reflect.TypeFor[validation.Problem]():
		return s.of(reflect.TypeFor[problemBody]())
	case t == reflect.TypeFor[validation.Problems]():
		return schema{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Func: // a dao.List: its parameter takes the elements
		return schema{"type": "array", "items": s.of(t.In(0).In(0))}
	case t.Implements(jsonMarshaler):
		panic("webservice: " + t.String() + " writes its own JSON, and has no schema")
	case t.Implements(textMarshaler):
		return schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return schema{"type": "integer", "format": integerFormat(t)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "format": integerFormat(t), "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.Interface:
		return schema{}
	case reflect.Slice:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Array:
		return schema{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.component(t)
	default:
		panic("webservice: " + t.String() + " has no schema")
	}
}

// nullableKinds lists the kinds of fields that are null without a value.
var nullableKinds = []reflect.Kind{reflect.Slice, reflect.Func, reflect.Pointer}

// integerFormat is the format of an integer in OpenAPI.
func integerFormat(t reflect.Type) string {
	if t.Bits() <= 32 {
		return "int32"
	}
	return "int64"
}

// component is a reference to the schema of a struct.
func (s *schemas) component(t reflect.Type) schema {
	name := schemaName(t)
	if known, ok := s.types[name]; ok && known != t {
		panic(fmt.Sprintf("webservice: %v and %v have the same name in the description", known, t))
	}
	ref := schema{"$ref": "#/components/schemas/" + name}
	if _, ok := s.types[name]; ok {
		return ref
	}
	s.types[name] = t
	properties, required := schema{}, []string{}
	s.fields(t, properties, &required)
	out := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	s.components[name] = out
	return ref
}

// fields adds the fields of a struct, those of embedded ones included.
func (s *schemas) fields(t reflect.Type, properties schema, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			s.fields(field.Type, properties, required)
			continue
		}
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		optional := strings.Contains(options, "omit")
		value := s.of(field.Type)
		if strings.Contains(options, "string") { // a number that is written as a text
			value = schema{"type": "string", "pattern": "^-?[0-9]+$"}
		}
		if nullable := slices.Contains(nullableKinds, field.Type.Kind()); nullable && !optional {
			value = schema{"anyOf": []schema{value, {"type": "null"}}}
		}
		properties[name] = value
		if !optional {
			*required = append(*required, name)
		}
	}
}

// schemaName is the name of a component: that of the type, in upper case and without the ending Body.
func schemaName(t reflect.Type) string {
	if t == reflect.TypeFor[scheduler.AskVerdict]() {
		return "Verdict" // the Verdict of the core is a part of it
	}
	name := []rune(strings.TrimSuffix(t.Name(), "Body"))
	name[0] = unicode.ToUpper(name[0])
	return string(name)
}
