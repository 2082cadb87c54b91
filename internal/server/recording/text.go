package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The text of a command or of a Begin is its recorded form as JSON on one line, with names for numbers that have them,
// and times and durations as text. Fields that are zero are left out.

// CommandText returns the name of a command and its fields, from which ParseCommand makes an equal one. exact is false
// if it does not, because names are not UTF-8.
func CommandText(cmd scheduler.Command) (name string, fields []byte, exact bool) {
	v := reflect.ValueOf(cmd)
	fields, exact = codecs[v.Type()].text(v)
	return nameOfType(v.Type()), fields, exact
}

// ParseCommand returns the command with a name and fields, as CommandText has them. The error names what is not known.
func ParseCommand(name string, fields []byte) (scheduler.Command, error) {
	i := slices.IndexFunc(commandTypes, func(t reflect.Type) bool { return t != nil && nameOfType(t) == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no command %q", name)
	}
	item, err := codecs[commandTypes[i]].parse(fields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	cmd, err := commandOf(uint64(i), item)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cmd, nil
}

// BeginText returns a Begin as text, from which ParseBegin makes an equal one, if it is exact.
func BeginText(b *Begin) (text []byte, exact bool) {
	v := reflect.ValueOf(b).Elem()
	return codecs[v.Type()].text(v)
}

// ParseBegin returns the Begin of a text of BeginText.
func ParseBegin(text []byte) (*Begin, error) {
	item, err := codecs[reflect.TypeFor[Begin]()].parse(text)
	if err != nil {
		return nil, err
	}
	return beginOf(item)
}

func (c *valueCodec) text(v reflect.Value) (text []byte, exact bool) {
	data := c.append(nil, v)
	var item any
	err := decoder.Unmarshal(data, &item)
	if err == nil {
		item, err = c.convert(item, named)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err == nil {
		err = e.Encode(item)
	}
	if err != nil {
		panic("recording: a value that was written cannot be read: " + err.Error())
	}
	text = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	again := reflect.New(c.t).Elem()
	if item, err = c.parse(text); err == nil {
		err = c.read(item, again)
	}
	return text, err == nil && bytes.Equal(c.append(nil, again), data)
}

func (c *valueCodec) parse(text []byte) (item any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&item); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more behind the JSON value")
	}
	return c.convert(item, numbered)
}

// convert returns an item in which simple has replaced the values that have no parts. What does not fit its type stays:
// it is refused when it is read.
func (c *valueCodec) convert(item any, simple func(*valueCodec, any) (any, error)) (any, error) {
	if c.parts != nil {
		return c.parts.convert(item, simple)
	}
	var err error
	switch x := item.(type) {
	case []any:
		for i := 0; i < len(x) && c.each != nil; i++ {
			x[i], err = c.each.convert(x[i], simple)
			if err != nil {
				return nil, err
			}
		}
		return x, nil
	case map[string]any:
		for name, value := range x {
			part := c.each
			if f := c.field(name); f != nil {
				part = f.codec
			}
			if part == nil {
				continue
			}
			x[name], err = part.convert(value, simple)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", name, c.t, err)
			}
		}
		return x, nil
	}
	return simple(c, item)
}

// named returns a value for JSON in place of an item.
func named(c *valueCodec, item any) (any, error) {
	n, ok := integer(item)
	switch {
	case !ok:
		return item, nil
	case c.t == reflect.TypeFor[objects.Timestamp]():
		return objects.Timestamp(n).Time().UTC().Format(time.RFC3339Nano), nil
	case n >= 0 && n < int64(len(c.names)) && slices.Index(c.names, c.names[n]) == int(n):
		return c.names[n], nil
	}
	return item, nil
}

// numbered returns the item that named has made a value of.
func numbered(c *valueCodec, value any) (any, error) {
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	switch {
	case isNumber && c.t.Kind() == reflect.Float64:
		return number.Float64()
	case isNumber:
		if n, err := strconv.ParseUint(number.String(), 10, 64); err == nil {
			return n, nil
		}
		return number.Int64()
	case isText && c.t == reflect.TypeFor[objects.Timestamp]():
		at, err := parseTime(text)
		return itemOfInt(int64(objects.TimestampOf(at))), err
	case isText && c.names != nil:
		if i := slices.Index(c.names, text); i >= 0 {
			return uint64(i), nil
		}
	}
	return value, nil
}

// itemOfInt returns a number as the decoder does: not negative ones are unsigned.
func itemOfInt(n int64) any {
	if n >= 0 {
		return uint64(n)
	}
	return n
}

// maxNamed bounds the values of a type that may have names.
const maxNamed = 32

// namesOf returns the names of the first values of a type of numbers; nil: they have none.
func namesOf(t reflect.Type) []string {
	if !t.Implements(reflect.TypeFor[fmt.Stringer]()) || t.Kind() < reflect.Int || t.Kind() > reflect.Uint64 {
		return nil
	}
	names := make([]string, maxNamed)
	for i := range names {
		names[i] = fmt.Sprint(reflect.ValueOf(i).Convert(t)) // the text of a panic, if there is no name
	}
	if n := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "%!") }); n >= 0 {
		return names[:n]
	}
	return names
}
