package recording

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// appendValue appends a value. A struct is a map from the numbers of its fields (structFields) to those that are not
// zero, so that a field that a later version adds is zero in older recordings. Requires: the type of v is in
// structFields or opaqueOf, or is made of such.
func appendValue(b []byte, v reflect.Value) []byte {
	if o, ok := opaqueOf(v.Type()); ok {
		return o.encode(b, v)
	}
	switch v.Kind() {
	case reflect.Bool:
		return appendBool(b, v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		return appendInt(b, v.Int())
	case reflect.Uint8, reflect.Uint64:
		return appendHead(b, majorUnsigned, v.Uint())
	case reflect.Float64:
		return appendHead(b, majorUnsigned, math.Float64bits(v.Float()))
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Pointer:
		return appendValue(b, v.Elem()) // nil is a zero field, which is left out
	case reflect.Slice:
		b = appendHead(b, majorArray, uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Map:
		return appendStrings(b, v.Interface().(map[string]string))
	case reflect.Struct:
		return appendStruct(b, v)
	}
	panic(fmt.Sprintf("recording: no encoding of %s", v.Type()))
}

func appendStruct(b []byte, v reflect.Value) []byte {
	names, ok := structFields[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: the fields of %s are not listed", v.Type()))
	}
	used := 0
	for _, name := range names {
		if name != "" && !v.FieldByName(name).IsZero() {
			used++
		}
	}
	b = appendHead(b, majorMap, uint64(used))
	for i, name := range names {
		if name == "" {
			continue
		}
		if f := v.FieldByName(name); !f.IsZero() {
			b = appendValue(appendHead(b, majorUnsigned, uint64(i+1)), f)
		}
	}
	return b
}

// appendStrings appends keys and values by turns, in the order of keys.
func appendStrings(b []byte, m map[string]string) []byte {
	var few [16]string
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = appendHead(b, majorArray, uint64(2*len(keys)))
	for _, key := range keys {
		b = appendString(appendString(b, key), m[key])
	}
	return b
}

// decode reads one value, which must fill data, into what into points to.
func decode(data []byte, into any) error {
	var item any
	if err := cborReader.Unmarshal(data, &item); err != nil {
		return err
	}
	return decodeValue(item, reflect.ValueOf(into).Elem())
}

// decodeValue sets into to a decoded item. A field that is not known is an error: the value would be another one.
func decodeValue(item any, into reflect.Value) error {
	if o, ok := opaqueOf(into.Type()); ok {
		return o.decode(item, into)
	}
	mismatch := func() error { return fmt.Errorf("%T is no %s", item, into.Type()) }
	switch into.Kind() {
	case reflect.Bool:
		is, ok := item.(bool)
		if !ok {
			return mismatch()
		}
		into.SetBool(is)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, ok := integer(item)
		if !ok || into.OverflowInt(n) {
			return mismatch()
		}
		into.SetInt(n)
	case reflect.Uint8, reflect.Uint64:
		n, ok := item.(uint64)
		if !ok || into.OverflowUint(n) {
			return mismatch()
		}
		into.SetUint(n)
	case reflect.Float64:
		n, ok := item.(uint64)
		if !ok {
			return mismatch()
		}
		into.SetFloat(math.Float64frombits(n))
	case reflect.String:
		s, ok := item.(string)
		if !ok {
			return mismatch()
		}
		into.SetString(s)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decodeValue(item, into.Elem())
	case reflect.Slice:
		list, ok := item.([]any)
		if !ok {
			return mismatch()
		}
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i := range list {
			if err := decodeValue(list[i], into.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return decodeStrings(item, into)
	case reflect.Struct:
		return decodeStruct(item, into)
	default:
		return mismatch()
	}
	return nil
}

func decodeStruct(item any, into reflect.Value) error {
	m, ok := item.(map[any]any)
	if !ok {
		return fmt.Errorf("%T is no %s", item, into.Type())
	}
	names := structFields[into.Type()]
	for key, value := range m {
		n, ok := key.(uint64)
		if !ok || n == 0 || n > uint64(len(names)) || names[n-1] == "" {
			return fmt.Errorf("%s has no field %v in this version of Canopy", into.Type(), key)
		}
		if err := decodeValue(value, into.FieldByName(names[n-1])); err != nil {
			return fmt.Errorf("%s of %s: %w", names[n-1], into.Type(), err)
		}
	}
	return nil
}

func decodeStrings(item any, into reflect.Value) error {
	list, ok := item.([]any)
	if !ok || len(list)%2 != 0 {
		return fmt.Errorf("%T is no map of strings", item)
	}
	m := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		key, isKey := list[i].(string)
		value, isValue := list[i+1].(string)
		if _, twice := m[key]; !isKey || !isValue || twice {
			return fmt.Errorf("%v is no map of strings", list)
		}
		m[strings.Clone(key)] = value
	}
	into.Set(reflect.ValueOf(m))
	return nil
}

func integer(item any) (n int64, ok bool) {
	switch x := item.(type) {
	case uint64:
		return int64(x), x <= math.MaxInt64
	case int64:
		return x, true
	}
	return 0, false
}
