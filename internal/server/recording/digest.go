package recording

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Digester computes digests of the effects of steps. The zero value is valid.
type Digester struct{ b []byte }

// Digest covers the effects and the questions of a step, as Asked and AskedAbout wrote them; 0: there are
// neither. Equal effects have equal digests, in this version of the format. Of the ask of an Allocated only what names
// it and its quantities count: the rest is in the command.
func (d *Digester) Digest(effects []scheduler.Effect, questions []byte) uint64 {
	if len(effects)+len(questions) == 0 {
		return 0
	}
	b := d.b[:0]
	for _, e := range effects {
		b = appendEffect(b, e)
	}
	d.b = append(b, questions...)
	return xxhash.Sum64(d.b) | 1
}

// appendEffect appends all of an effect. The frequent ones are written without reflection.
func appendEffect(b []byte, effect scheduler.Effect) []byte {
	switch e := effect.(type) {
	case scheduler.Allocated:
		b = appendName(appendName(appendName(append(b, 1), e.Ask.Key), e.Ask.App), e.Node)
		for i := range e.Ask.Amounts.Len() {
			_, n := e.Ask.Amounts.Entry(i)
			b = binary.AppendVarint(b, int64(n))
		}
		return b
	case scheduler.Released:
		b = appendName(appendName(binary.AppendUvarint(append(b, 2), uint64(e.Type)), e.Key), e.App)
		return appendName(b, e.Message)
	case scheduler.ApplicationUpdated:
		b = appendName(appendName(append(b, 3, byte(e.State), byte(e.Reason)), e.App), e.Queue)
		return binary.LittleEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	case scheduler.AsksWait:
		for w, reason := range e.EachWithReason {
			b = appendName(appendName(append(b, 4, byte(w.State)), w.Ask.Key), w.Ask.App)
			b = appendName(b, reason)
		}
		return b
	}
	v := reflect.ValueOf(effect)
	return appendAny(appendName(append(b, 0), v.Type().Name()), v)
}

// appendTags appends names and values by turns, in the order of names.
func appendTags(b []byte, m map[string]string) []byte {
	b = appendHead(b, majorArray, uint64(2*len(m)))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = appendString(appendString(b, name), m[name])
	}
	return b
}

func appendName[S ~string](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendAny appends a value with all its fields, also those of its own.
func appendAny(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return appendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Float64:
		return binary.AppendUvarint(b, math.Float64bits(v.Float()))
	case reflect.String:
		return appendName(b, v.String())
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendAny(append(b, 1), v.Elem())
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendAny(b, v.Index(i))
		}
		return b
	case reflect.Map:
		return appendTags(b, v.Interface().(map[string]string))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			t := v.Interface().(time.Time)
			return binary.AppendVarint(binary.AppendVarint(b, t.Unix()), int64(t.Nanosecond()))
		}
		for i := range v.NumField() {
			b = appendAny(b, v.Field(i))
		}
		return b
	}
	panic(fmt.Sprintf("recording: no digest of %s", v.Type()))
}
