package recording

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// CommandName is the name of a command in texts: submit-ask; of nil, schedule.
func CommandName(cmd scheduler.Command) string {
	if cmd == nil {
		return "schedule"
	}
	var b strings.Builder
	for i, r := range reflect.TypeOf(cmd).Name() {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Describe is a step as text: what the Core was called with. Fields that are zero are left out.
func (s *Step) Describe() string {
	if s.Command == nil {
		return fmt.Sprintf("schedule budget=%d", s.Budget)
	}
	text := CommandName(s.Command)
	if fields := describeFields(reflect.ValueOf(s.Command)); fields != "" {
		text += " " + fields
	}
	return text
}

// describeFields are the fields of a struct with their values.
func describeFields(v reflect.Value) string {
	var parts []string
	for _, name := range structFields[v.Type()] {
		f := v.FieldByName(name)
		switch {
		case name == "" || f.IsZero():
		case f.Kind() == reflect.Bool:
			parts = append(parts, lowerFirst(name))
		case name == "Ask" || name == "Foreign" || name == "Details":
			parts = append(parts, describeFields(reflect.Indirect(f)))
		default:
			parts = append(parts, lowerFirst(name)+"="+describeValue(f))
		}
	}
	return strings.Join(parts, " ")
}

func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// describeValue is a value on one line.
func describeValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case objects.Timestamp:
		return x.Time().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return fmt.Sprint(x) // a number that has no name is no panic
	case budgets.Registry:
		return fmt.Sprintf("(%d)", len(x.All()))
	}
	switch v.Kind() {
	case reflect.String:
		return quoted(v.String())
	case reflect.Pointer:
		return describeValue(v.Elem())
	case reflect.Struct:
		return "(" + describeFields(v) + ")"
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = describeValue(v.Index(i))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%v", v.Interface())
}

// quoted is a name, in quotes if it would be read otherwise.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`"()[]=`, r)
	}) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// Fields are the fields of a command that are not zero, by name, as values for JSON; nil for a call of Schedule.
func (s *Step) Fields() map[string]any {
	if s.Command == nil {
		return nil
	}
	return fieldsOf(reflect.ValueOf(s.Command))
}

func fieldsOf(v reflect.Value) map[string]any {
	m := map[string]any{}
	for _, name := range structFields[v.Type()] {
		if name == "" {
			continue
		}
		if f := v.FieldByName(name); !f.IsZero() {
			m[lowerFirst(name)] = plainValue(f)
		}
	}
	return m
}

// plainValue is a value as numbers, texts, lists and maps.
func plainValue(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case resources.Amounts:
		return x.Map()
	case resources.Limit:
		return x.Map()
	case resources.Guarantee:
		return x.Map()
	case security.ACL:
		return x.String()
	case *regexp.Regexp:
		return x.String()
	case time.Time:
		return x
	case time.Duration:
		return x.String()
	case objects.Timestamp:
		return x.Time()
	case budgets.Selector:
		return x.String()
	case budgets.Registry:
		all := []any{}
		for _, b := range x.All() {
			all = append(all, plainValue(reflect.ValueOf(b)))
		}
		return all
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plainValue(v.Elem())
	case reflect.Struct:
		return fieldsOf(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainValue(v.Index(i))
		}
		return list
	}
	return v.Interface()
}
