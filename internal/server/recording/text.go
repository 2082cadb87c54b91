package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// EncodeCommand is a command as bytes that DecodeCommand reads. A Core may change a command that it gets, so what is to
// be executed several times is kept so.
func EncodeCommand(cmd scheduler.Command) []byte { return appendCommand(nil, cmd) }

// DecodeCommand reads a command of EncodeCommand.
func DecodeCommand(data []byte) (scheduler.Command, error) { return decodeCommand(data) }

// EncodeBegin is a Begin as bytes that DecodeBegin reads.
func EncodeBegin(b *Begin) []byte { return appendValue(nil, reflect.ValueOf(b).Elem()) }

// DecodeBegin reads a Begin of EncodeBegin.
func DecodeBegin(data []byte) (*Begin, error) {
	b := new(Begin)
	return b, decode(data, b)
}

// CommandText is a command as its name and its fields, JSON on one line, from which ParseCommand makes an equal one.
// The error says that there is none: JSON has no names that are not UTF-8.
func CommandText(cmd scheduler.Command) (name string, fields []byte, err error) {
	name = CommandName(cmd)
	if fields, err = jsonOf(appendStruct(nil, reflect.ValueOf(cmd)), reflect.TypeOf(cmd)); err != nil {
		return name, fields, fmt.Errorf("%s: %w", name, err)
	}
	again, err := ParseCommand(name, fields)
	if err == nil && !bytes.Equal(EncodeCommand(again), EncodeCommand(cmd)) {
		err = fmt.Errorf("%s: its names are no UTF-8", name)
	}
	return name, fields, err
}

// ParseCommand is the command with a name and fields, as CommandText has them. The error names what is not known.
func ParseCommand(name string, fields []byte) (scheduler.Command, error) {
	i := slices.IndexFunc(commandTypes, func(t reflect.Type) bool {
		return t != nil && CommandName(reflect.Zero(t).Interface().(scheduler.Command)) == name
	})
	if i < 0 {
		return nil, fmt.Errorf("there is no command %q", name)
	}
	v := reflect.New(commandTypes[i]).Elem()
	if err := parseJSON(fields, v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	cmd := v.Interface().(scheduler.Command)
	if askMissing(cmd) {
		return nil, fmt.Errorf("%s has no ask", name)
	}
	return cmd, nil
}

// BeginText is a Begin as JSON on one line, from which ParseBegin makes an equal one. The error is as that of
// CommandText.
func BeginText(b *Begin) ([]byte, error) {
	text, err := jsonOf(EncodeBegin(b), reflect.TypeFor[Begin]())
	if err != nil {
		return text, err
	}
	again, err := ParseBegin(text)
	if err == nil && !bytes.Equal(EncodeBegin(again), EncodeBegin(b)) {
		err = errors.New("the configuration has names that are no UTF-8")
	}
	return text, err
}

// ParseBegin is the Begin that BeginText has made a text of.
func ParseBegin(text []byte) (*Begin, error) {
	b := new(Begin)
	return b, parseJSON(text, reflect.ValueOf(b).Elem())
}

func jsonOf(data []byte, t reflect.Type) ([]byte, error) {
	var item any
	if err := cborReader.Unmarshal(data, &item); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(textOf(item, t)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func parseJSON(text []byte, into reflect.Value) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var parsed any
	if err := d.Decode(&parsed); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more behind the JSON value")
	}
	item, err := itemOf(parsed, into.Type())
	if err != nil {
		return err
	}
	return decodeValue(item, into)
}
