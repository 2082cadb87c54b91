package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Values are CBOR. They are read by the library into maps, lists and numbers, and put into types from there. They are
// written by the functions below, since the library takes three times as long for an ask (ADR 85): it costs the
// goroutine that decides.

// The major types of CBOR that are written, and its simple values.
const (
	majorUnsigned = 0 << 5
	majorNegative = 1 << 5
	majorBytes    = 2 << 5
	majorText     = 3 << 5
	majorArray    = 4 << 5
	majorMap      = 5 << 5

	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborFloat64 = 0xfb
)

// appendHead appends the head of an item, in as few bytes as possible.
func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

func appendInt[N ~int64 | ~int](b []byte, n N) []byte {
	if n < 0 {
		return appendHead(b, majorNegative, uint64(-1-int64(n)))
	}
	return appendHead(b, majorUnsigned, uint64(n))
}

// appendString appends a name as a byte string: it may not be UTF-8.
func appendString[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(appendHead(b, majorBytes, uint64(len(s))), s...)
}

func appendBool(b []byte, is bool) []byte {
	if is {
		return append(b, cborTrue)
	}
	return append(b, cborFalse)
}

// decoder reads items into uint64, int64, float64, string, bool, []any and map[string]any.
var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 65535, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 16,
		DefaultByteStringType: reflect.TypeFor[string](), DefaultMapType: reflect.TypeFor[map[string]any](),
		MapKeyByteString: cbor.MapKeyByteStringAllowed, ByteStringToString: cbor.ByteStringToStringAllowed,
	}.DecMode()
	if err != nil {
		panic("recording: " + err.Error())
	}
	return mode
}()

// valueCodec writes and reads the values of a type. A struct is a map from the names of its fields to those that are
// not zero, so that a field that a later version adds is zero in older recordings. A field with the tag `recording:"-"`
// is derived from others, and is not recorded.
type valueCodec struct {
	append func(b []byte, v reflect.Value) []byte
	read   func(item any, into reflect.Value) error
	parts  *valueCodec   // of what is recorded in place of a value; nil: the value itself
	each   *valueCodec   // of the elements of a list or a map; nil: it is neither
	fields []structField // of a struct
	names  []string      // of the numbers from 0 on, if they have names
	t      reflect.Type
}

// structField is a field that is recorded.
type structField struct {
	name  string // key, with a lower first letter
	head  []byte // the key as an item
	index int
	codec *valueCodec
}

// codecs has a codec for each type that a recording may have. It is complete when the package is initialized.
var codecs = func() map[reflect.Type]*valueCodec {
	all := codecSet{}
	all.of(reflect.TypeFor[Begin]())
	for _, t := range commandTypes[1:] {
		if t != nil {
			all.of(t)
		}
	}
	return all
}()

type codecSet map[reflect.Type]*valueCodec

// of returns the codec of a type, and adds it with those of its parts if it is new.
func (s codecSet) of(t reflect.Type) *valueCodec {
	c, known := s[t]
	if known {
		return c
	}
	c = &valueCodec{t: t, names: namesOf(t)}
	s[t] = c // before its parts: a queue has queues
	if s.opaque(t, c) {
		return c
	}
	switch t.Kind() {
	case reflect.Bool:
		c.append = func(b []byte, v reflect.Value) []byte { return appendBool(b, v.Bool()) }
		c.read = simple(reflect.Value.SetBool)
	case reflect.Int, reflect.Int32, reflect.Int64:
		c.append = func(b []byte, v reflect.Value) []byte { return appendInt(b, v.Int()) }
		c.read = readNumber
	case reflect.Uint8, reflect.Uint64:
		c.append = func(b []byte, v reflect.Value) []byte { return appendHead(b, majorUnsigned, v.Uint()) }
		c.read = readNumber
	case reflect.Float64:
		c.append = func(b []byte, v reflect.Value) []byte {
			return binary.BigEndian.AppendUint64(append(b, cborFloat64), math.Float64bits(v.Float()))
		}
		c.read = simple(reflect.Value.SetFloat)
	case reflect.String:
		c.append = func(b []byte, v reflect.Value) []byte { return appendString(b, v.String()) }
		c.read = simple(reflect.Value.SetString)
	case reflect.Pointer:
		s.pointer(t, c)
	case reflect.Slice:
		s.slice(t, c)
	case reflect.Struct:
		s.structure(t, c)
	default:
		panic(fmt.Sprintf("recording: no encoding of %s", t))
	}
	return c
}

// pointer completes the codec of pointers. nil is a zero field, which is left out.
func (s codecSet) pointer(t reflect.Type, c *valueCodec) {
	c.parts = s.of(t.Elem())
	c.append = func(b []byte, v reflect.Value) []byte { return c.parts.append(b, v.Elem()) }
	c.read = func(item any, into reflect.Value) error {
		into.Set(reflect.New(t.Elem()))
		return c.parts.read(item, into.Elem())
	}
}

func (s codecSet) slice(t reflect.Type, c *valueCodec) {
	c.each = s.of(t.Elem())
	c.append = func(b []byte, v reflect.Value) []byte {
		b = appendHead(b, majorArray, uint64(v.Len()))
		for i := range v.Len() {
			b = c.each.append(b, v.Index(i))
		}
		return b
	}
	c.read = func(item any, into reflect.Value) error {
		list, ok := item.([]any)
		if !ok {
			return mismatch(item, into)
		}
		into.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i := range list {
			if err := c.each.read(list[i], into.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// entry is one of a map.
type entry[V any] struct {
	name  string
	value V
}

// entries completes the codec of maps, which are written in the order of names: most asks have tags of the same names,
// and are shorter when they are compressed.
func entries[V any](s codecSet, c *valueCodec, write func([]byte, V) []byte) {
	c.each = s.of(reflect.TypeFor[V]())
	c.append = func(b []byte, v reflect.Value) []byte {
		var few [16]entry[V]
		all := few[:0]
		for name, value := range *pointerTo[map[string]V](v) {
			all = append(all, entry[V]{name, value})
		}
		slices.SortFunc(all, func(x, y entry[V]) int { return strings.Compare(x.name, y.name) })
		b = appendHead(b, majorMap, uint64(len(all)))
		for i := range all {
			b = write(appendString(b, all[i].name), all[i].value)
		}
		return b
	}
	c.read = func(item any, into reflect.Value) error {
		items, ok := item.(map[string]any)
		if !ok {
			return mismatch(item, into)
		}
		m := make(map[string]V, len(items))
		for name, x := range items {
			var value V
			if err := c.each.read(x, reflect.ValueOf(&value).Elem()); err != nil {
				return err
			}
			m[name] = value
		}
		into.Set(reflect.ValueOf(m))
		return nil
	}
}

func (s codecSet) structure(t reflect.Type, c *valueCodec) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("recording") == "-" {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("recording: the field %s of %s is not exported", f.Name, t))
		}
		name := strings.ToLower(f.Name[:1]) + f.Name[1:]
		head := append(appendHead(nil, majorText, uint64(len(name))), name...)
		c.fields = append(c.fields, structField{name, head, i, s.of(f.Type)})
	}
	c.append = func(b []byte, v reflect.Value) []byte {
		count, used := len(b)+1, byte(0)
		b = append(b, majorMap|24, 0) // the number of fields is in the second byte
		for i := range c.fields {
			f := &c.fields[i]
			if value := v.Field(f.index); !value.IsZero() {
				b = f.codec.append(append(b, f.head...), value)
				used++
			}
		}
		b[count] = used
		return b
	}
	c.read = func(item any, into reflect.Value) error {
		m, ok := item.(map[string]any)
		if !ok {
			return mismatch(item, into)
		}
		for name, value := range m {
			f := c.field(name)
			if f == nil {
				return c.unknownField(name)
			}
			if err := f.codec.read(value, into.Field(f.index)); err != nil {
				return fmt.Errorf("%s of %s: %w", name, t, err)
			}
		}
		return nil
	}
}

// field returns the field of a name; nil: there is none.
func (c *valueCodec) field(name string) *structField {
	for i := range c.fields {
		if c.fields[i].name == name {
			return &c.fields[i]
		}
	}
	return nil
}

func (c *valueCodec) unknownField(name string) error {
	return fmt.Errorf("%s has no field %q in this version of Canopy", c.t, name)
}

// simple returns a function that sets a value to an item of its type.
func simple[T any](set func(reflect.Value, T)) func(any, reflect.Value) error {
	return func(item any, into reflect.Value) error {
		x, ok := item.(T)
		if !ok {
			return mismatch(item, into)
		}
		set(into, x)
		return nil
	}
}

func readNumber(item any, into reflect.Value) error {
	n, isInt := integer(item)
	u, isUint := item.(uint64)
	switch {
	case into.CanInt() && isInt && !into.OverflowInt(n):
		into.SetInt(n)
	case into.CanUint() && isUint && !into.OverflowUint(u):
		into.SetUint(u)
	default:
		return mismatch(item, into)
	}
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

func mismatch(item any, into reflect.Value) error {
	return fmt.Errorf("%v is no %s", item, into.Type())
}

// pointerTo returns a pointer to a value without a copy if it is in memory.
func pointerTo[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	x := v.Interface().(T)
	return &x
}
