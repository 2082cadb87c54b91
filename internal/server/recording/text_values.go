package recording

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// textOf is a decoded item of a type as values for JSON, with the names of fields, from which itemOf makes the item
// again.
func textOf(item any, t reflect.Type) any {
	if o, ok := opaqueOf(t); ok {
		switch {
		case t == reflect.TypeFor[time.Time]():
			at, _ := timeOfItem(item)
			return at.Format(time.RFC3339Nano)
		case o.parts == nil:
			return textOfPairs(item)
		}
		return textOf(item, o.parts)
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64:
		n, ok := integer(item)
		if !ok {
			return item // above the largest int64
		}
		switch t {
		case reflect.TypeFor[objects.Timestamp]():
			return objects.Timestamp(n).Time().UTC().Format(time.RFC3339Nano)
		case reflect.TypeFor[time.Duration]():
			return time.Duration(n).String()
		}
		if name, ok := valueName(t, n); ok {
			return name
		}
		return item
	case reflect.Float64:
		bits, _ := item.(uint64)
		return math.Float64frombits(bits)
	case reflect.Pointer:
		return textOf(item, t.Elem())
	case reflect.Slice:
		list, _ := item.([]any)
		texts := make([]any, len(list))
		for i := range list {
			texts[i] = textOf(list[i], t.Elem())
		}
		return texts
	case reflect.Map:
		return textOfPairs(item)
	case reflect.Struct:
		fields, _ := item.(map[any]any)
		m := map[string]any{}
		for i, name := range structFields[t] {
			if value, ok := fields[uint64(i+1)]; ok {
				f, _ := t.FieldByName(name)
				m[lowerFirst(name)] = textOf(value, f.Type)
			}
		}
		return m
	}
	return item
}

// textOfPairs is a list of keys and values by turns as a map.
func textOfPairs(item any) map[string]any {
	list, _ := item.([]any)
	m := make(map[string]any, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		key, _ := list[i].(string)
		m[key] = list[i+1]
	}
	return m
}

func timeOfItem(item any) (time.Time, error) {
	var parts []int64
	if err := decodeValue(item, reflect.ValueOf(&parts).Elem()); err != nil {
		return time.Time{}, err
	}
	return timeOfParts(parts)
}

// maxNamed is how many values of a type may have names.
const maxNamed = 32

// valueName is the name of a value of a type that has names for its values; ok is false if it has none, or one that
// another value has too.
func valueName(t reflect.Type, n int64) (name string, ok bool) {
	if !t.Implements(reflect.TypeFor[fmt.Stringer]()) || n < 0 || n >= maxNamed {
		return "", false
	}
	name = nameOf(t, n)
	found, ok := valueOf(t, name)
	return name, ok && found == n
}

// valueOf is the value with a name, the first.
func valueOf(t reflect.Type, name string) (n int64, ok bool) {
	if !t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return 0, false
	}
	for n := range int64(maxNamed) {
		if nameOf(t, n) == name {
			return n, true
		}
	}
	return 0, false
}

// nameOf is the text of a value; empty for one that panics.
func nameOf(t reflect.Type, n int64) (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	v := reflect.New(t).Elem()
	if v.CanUint() {
		v.SetUint(uint64(n))
	} else {
		v.SetInt(n)
	}
	return v.Interface().(fmt.Stringer).String()
}

// itemOf is the item of a type that textOf has made a text of.
func itemOf(text any, t reflect.Type) (any, error) {
	mismatch := func() (any, error) { return nil, fmt.Errorf("%v is no %s", text, t) }
	if o, ok := opaqueOf(t); ok {
		switch {
		case t == reflect.TypeFor[time.Time]():
			s, _ := text.(string)
			at, err := time.Parse(time.RFC3339Nano, s)
			return itemsOf(timeParts(at)), err
		case o.parts == nil:
			return itemOfPairs(text)
		}
		return itemOf(text, o.parts)
	}
	switch t.Kind() {
	case reflect.Bool:
		is, ok := text.(bool)
		if !ok {
			return mismatch()
		}
		return is, nil
	case reflect.String:
		s, ok := text.(string)
		if !ok {
			return mismatch()
		}
		return s, nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64:
		return itemOfNumber(text, t)
	case reflect.Float64:
		number, _ := text.(json.Number)
		f, err := number.Float64()
		return math.Float64bits(f), err
	case reflect.Pointer:
		return itemOf(text, t.Elem())
	case reflect.Slice:
		list, ok := text.([]any)
		if !ok {
			return mismatch()
		}
		items := make([]any, len(list))
		for i := range list {
			var err error
			items[i], err = itemOf(list[i], t.Elem())
			if err != nil {
				return nil, err
			}
		}
		return items, nil
	case reflect.Map:
		return itemOfPairs(text)
	case reflect.Struct:
		return itemOfStruct(text, t)
	}
	return mismatch()
}

func itemOfStruct(text any, t reflect.Type) (any, error) {
	m, ok := text.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no %s", text, t)
	}
	fields := map[any]any{}
	for i, name := range structFields[t] {
		value, ok := m[lowerFirst(name)]
		if name == "" || !ok {
			continue
		}
		f, _ := t.FieldByName(name)
		item, err := itemOf(value, f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", lowerFirst(name), t, err)
		}
		fields[uint64(i+1)] = item
	}
	if len(fields) != len(m) {
		for name := range m {
			if !hasField(t, name) {
				return nil, fmt.Errorf("%s has no field %q", t, name)
			}
		}
	}
	return fields, nil
}

func hasField(t reflect.Type, name string) bool {
	for _, known := range structFields[t] {
		if known != "" && lowerFirst(known) == name {
			return true
		}
	}
	return false
}

// itemOfNumber is the item of a number, or of the name of one.
func itemOfNumber(text any, t reflect.Type) (any, error) {
	switch x := text.(type) {
	case json.Number:
		if n, err := strconv.ParseUint(x.String(), 10, 64); err == nil {
			return n, nil
		}
		return x.Int64()
	case string:
		switch t {
		case reflect.TypeFor[objects.Timestamp]():
			at, err := time.Parse(time.RFC3339Nano, x)
			return itemOfInt(int64(objects.TimestampOf(at))), err
		case reflect.TypeFor[time.Duration]():
			d, err := time.ParseDuration(x)
			return itemOfInt(int64(d)), err
		}
		if n, ok := valueOf(t, x); ok {
			return itemOfInt(n), nil
		}
	}
	return nil, fmt.Errorf("%v is no %s", text, t)
}

// itemOfInt is a number as CBOR has it: not negative ones are unsigned.
func itemOfInt(n int64) any {
	if n >= 0 {
		return uint64(n)
	}
	return n
}

func itemsOf(numbers []int64) []any {
	items := make([]any, len(numbers))
	for i, n := range numbers {
		items[i] = itemOfInt(n)
	}
	return items
}

// itemOfPairs is a map as keys and values by turns.
func itemOfPairs(text any) (any, error) {
	m, ok := text.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no map", text)
	}
	items := make([]any, 0, 2*len(m))
	for key, value := range m {
		if number, ok := value.(json.Number); ok {
			n, err := number.Int64()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			value = itemOfInt(n)
		}
		items = append(items, key, value)
	}
	return items, nil
}
