package recording

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// commands has one of each command; its number is the index. A new one goes to the end. A number is never used for
// another command: the place of one that is withdrawn stays, as nil. The fields of a command are recorded by their
// names (valueCodec), so a new field needs no line here.
var commands = []scheduler.Command{
	nil, scheduler.UseConfig{}, scheduler.DrainPartition{}, scheduler.ResetPartition{}, scheduler.AddNode{}, // from 0 on
	scheduler.SetCapacity{}, scheduler.SetAttributes{}, scheduler.SetSchedulable{}, scheduler.RemoveNode{}, // 5
	scheduler.AddApplication{}, scheduler.RemoveApplication{}, scheduler.SubmitAsk{}, scheduler.SubmitAskWithClass{}, // 9
	scheduler.ReportAllocation{}, scheduler.Release{}, scheduler.ReportForeign{}, scheduler.ReleaseForeign{}, // 13
	scheduler.SetListening{}, scheduler.Operate{}, scheduler.RestoreOperators{}, scheduler.Wake{}, // 17
	scheduler.RejectAsk{}, scheduler.RestoreStarts{}, scheduler.RestoreUsage{}, // 21
}

// commandTypes has the types of commands.
var commandTypes = func() (types []reflect.Type) {
	for _, cmd := range commands {
		types = append(types, reflect.TypeOf(cmd))
	}
	return types
}()

// commandCodec has the number of a type in commandTypes, and its codec.
type commandCodec struct {
	number uint64
	fields *valueCodec
}

var commandCodecs = func() map[reflect.Type]commandCodec {
	m := map[reflect.Type]commandCodec{}
	for i, t := range commandTypes {
		if t != nil {
			m[t] = commandCodec{uint64(i), codecs[t]}
		}
	}
	return m
}()

// appendCommand appends the number of a command and its fields: two items.
func appendCommand(b []byte, cmd scheduler.Command) []byte {
	v := reflect.ValueOf(cmd)
	c, ok := commandCodecs[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: %T has no number", cmd))
	}
	return c.fields.append(appendHead(b, majorUnsigned, c.number), v)
}

// commandOf returns the command of a number and its decoded fields. A number that is not known is an error.
func commandOf(number, fields any) (scheduler.Command, error) {
	n, ok := number.(uint64)
	if !ok || n >= uint64(len(commandTypes)) || commandTypes[n] == nil {
		return nil, fmt.Errorf("there is no command %v in this version of Canopy", number)
	}
	v := reflect.New(commandTypes[n]).Elem()
	if err := codecs[v.Type()].read(fields, v); err != nil {
		return nil, err
	}
	if ask := v.FieldByName("Ask"); ask.IsValid() && ask.IsNil() {
		return nil, fmt.Errorf("%s has no ask", CommandName(v.Interface().(scheduler.Command)))
	}
	return v.Interface().(scheduler.Command), nil
}

// CommandName returns the name of a command in texts, such as submit-ask; for nil, schedule.
func CommandName(cmd scheduler.Command) string {
	if cmd == nil {
		return "schedule"
	}
	return nameOfType(reflect.TypeOf(cmd))
}

func nameOfType(t reflect.Type) string {
	var b strings.Builder
	for i, r := range t.Name() {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// EncodeCommand returns a command as bytes that DecodeCommand reads. A Core may change a command that it gets, so one
// that is executed several times is kept so.
func EncodeCommand(cmd scheduler.Command) []byte {
	return appendCommand(appendHead(nil, majorArray, 2), cmd)
}

// DecodeCommand reads a command of EncodeCommand.
func DecodeCommand(data []byte) (scheduler.Command, error) {
	var item []any
	if err := decoder.Unmarshal(data, &item); err != nil {
		return nil, err
	}
	if len(item) != 2 {
		return nil, fmt.Errorf("a command has 2 parts, and not %d", len(item))
	}
	return commandOf(item[0], item[1])
}

// EncodeBegin returns a Begin as bytes that DecodeBegin reads.
func EncodeBegin(b *Begin) []byte {
	v := reflect.ValueOf(b).Elem()
	return codecs[v.Type()].append(nil, v)
}

// DecodeBegin reads a Begin of EncodeBegin.
func DecodeBegin(data []byte) (*Begin, error) {
	var item any
	if err := decoder.Unmarshal(data, &item); err != nil {
		return nil, err
	}
	return beginOf(item)
}

func beginOf(item any) (*Begin, error) {
	b := new(Begin)
	v := reflect.ValueOf(b).Elem()
	return b, codecs[v.Type()].read(item, v)
}
