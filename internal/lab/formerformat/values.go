package formerformat

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Values are CBOR as in package recording, but that fields have numbers, maps are lists of keys and values, times are
// seconds and nanoseconds, and floating-point numbers are their bits. So they are changed into values of package
// recording.

// accessList and selectorParts have the parts of a security.ACL and a budgets.Selector.
type (
	accessList struct {
		Everyone      bool
		Users, Groups []string
	}
	selectorParts struct {
		Labels      map[string]string
		Expressions []budgets.Expression
	}
)

// partsOf has the types that are recorded in place of others.
var partsOf = map[reflect.Type]reflect.Type{
	reflect.TypeFor[resources.Amounts]():   reflect.TypeFor[map[string]int64](),
	reflect.TypeFor[resources.Limit]():     reflect.TypeFor[map[string]int64](),
	reflect.TypeFor[resources.Guarantee](): reflect.TypeFor[map[string]int64](),
	reflect.TypeFor[*regexp.Regexp]():      reflect.TypeFor[string](),
	reflect.TypeFor[security.ACL]():        reflect.TypeFor[accessList](),
	reflect.TypeFor[budgets.Registry]():    reflect.TypeFor[[]budgets.Budget](),
	reflect.TypeFor[budgets.Selector]():    reflect.TypeFor[selectorParts](),
}

var errForm = errors.New("a value has another form")

// decoder reads values into uint64, int64, string, bool, []any and map[any]any.
var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 65535, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 16,
		DefaultByteStringType: reflect.TypeFor[string](),
	}.DecMode()
	if err != nil {
		panic("formerformat: " + err.Error())
	}
	return mode
}()

// encoder writes values for package recording.
var encoder = func() cbor.EncMode {
	mode, err := cbor.EncOptions{String: cbor.StringToByteString}.EncMode()
	if err != nil {
		panic("formerformat: " + err.Error())
	}
	return mode
}()

// begin reads a Begin.
func (c *cursor) begin() *recording.Begin {
	data := c.value(func(item any) (any, error) { return changed(item, reflect.TypeFor[recording.Begin]()) })
	if c.failed != nil {
		return nil
	}
	b, err := recording.DecodeBegin(data)
	if err != nil {
		c.fail(err)
	}
	return b
}

// command reads a command: a list of its number and its fields. The numbers are those of package recording.
func (c *cursor) command() scheduler.Command {
	data := c.value(func(item any) (any, error) {
		list, ok := item.([]any)
		if !ok || len(list) != 2 {
			return nil, errForm
		}
		number, ok := list[0].(uint64)
		if !ok || number >= uint64(len(commandTypes)) || commandTypes[number] == nil {
			return nil, fmt.Errorf("there is no command %v", list[0])
		}
		fields, err := changed(list[1], commandTypes[number])
		return []any{number, fields}, err
	})
	if c.failed != nil {
		return nil
	}
	cmd, err := recording.DecodeCommand(data)
	if err != nil {
		c.fail(err)
	}
	return cmd
}

// value reads a value, and returns what change makes of it.
func (c *cursor) value(change func(item any) (any, error)) (data []byte) {
	var item any
	body := c.bytes()
	if c.failed != nil {
		return nil
	}
	err := decoder.Unmarshal(body, &item)
	if err == nil {
		item, err = change(item)
	}
	if err == nil {
		data, err = encoder.Marshal(item)
	}
	if err != nil {
		c.fail(err)
	}
	return data
}

// canopyOf returns the version of Canopy of a header.
func canopyOf(header []byte) (string, error) {
	var fields map[uint64]any
	err := decoder.Unmarshal(header, &fields)
	version, _ := fields[1].(string)
	return version, err
}

// changed returns a value of a type as package recording has it.
func changed(item any, t reflect.Type) (any, error) {
	if parts, ok := partsOf[t]; ok {
		t = parts
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return changedTime(item)
	case reflect.TypeFor[time.Duration]():
		d, err := number(item)
		return time.Duration(d).String(), err
	}
	switch t.Kind() {
	case reflect.Pointer:
		return changed(item, t.Elem())
	case reflect.Float64:
		bits, ok := item.(uint64)
		if !ok {
			return nil, errForm
		}
		return math.Float64frombits(bits), nil
	case reflect.Slice:
		list, ok := item.([]any)
		if !ok {
			return nil, errForm
		}
		out := make([]any, len(list))
		for i, x := range list {
			var err error
			out[i], err = changed(x, t.Elem())
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	case reflect.Map:
		list, ok := item.([]any)
		if !ok || len(list)%2 != 0 {
			return nil, errForm
		}
		out := map[string]any{}
		for i := 0; i < len(list); i += 2 {
			key, ok := list[i].(string)
			if !ok {
				return nil, errForm
			}
			out[key] = list[i+1]
		}
		return out, nil
	case reflect.Struct:
		return changedStruct(item, t)
	}
	return item, nil
}

// changedTime returns a time of seconds and nanoseconds as text.
func changedTime(item any) (any, error) {
	list, ok := item.([]any)
	if !ok || len(list) != 2 {
		return nil, errForm
	}
	var parts [2]int64
	for i, x := range list {
		var err error
		parts[i], err = number(x)
		if err != nil {
			return nil, err
		}
	}
	return time.Unix(parts[0], parts[1]).UTC().Format(time.RFC3339Nano), nil
}

func number(item any) (int64, error) {
	switch n := item.(type) {
	case uint64:
		return int64(n), nil
	case int64:
		return n, nil
	}
	return 0, errForm
}

func changedStruct(item any, t reflect.Type) (any, error) {
	fields, ok := item.(map[any]any)
	if !ok {
		return nil, errForm
	}
	names, out := structFields[t], map[string]any{}
	for key, x := range fields {
		n, ok := key.(uint64)
		if !ok || n == 0 || n > uint64(len(names)) {
			return nil, fmt.Errorf("%s has no field %v", t, key)
		}
		name := names[n-1]
		f, _ := t.FieldByName(name)
		var err error
		out[strings.ToLower(name[:1])+name[1:]], err = changed(x, f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, t, err)
		}
	}
	return out, nil
}
