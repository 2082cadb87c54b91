package recording

import (
	"fmt"
	"reflect"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// commandNumbers has the index of each type in commandTypes.
var commandNumbers = func() map[reflect.Type]uint64 {
	m := map[reflect.Type]uint64{}
	for i, t := range commandTypes {
		if t != nil {
			m[t] = uint64(i)
		}
	}
	return m
}()

// appendCommand appends a command as a list of its number and its fields.
func appendCommand(b []byte, cmd scheduler.Command) []byte {
	v := reflect.ValueOf(cmd)
	number, ok := commandNumbers[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: %T has no number", cmd))
	}
	return appendStruct(appendHead(append(b, majorArray|2), majorUnsigned, number), v)
}

// decodeCommand reads a command. A number that is not known is an error.
func decodeCommand(data []byte) (scheduler.Command, error) {
	var item any
	if err := cborReader.Unmarshal(data, &item); err != nil {
		return nil, err
	}
	list, ok := item.([]any)
	if !ok || len(list) != 2 {
		return nil, fmt.Errorf("%T is no command", item)
	}
	number, ok := list[0].(uint64)
	if !ok || number >= uint64(len(commandTypes)) || commandTypes[number] == nil {
		return nil, fmt.Errorf("there is no command %v in this version of Canopy", list[0])
	}
	v := reflect.New(commandTypes[number]).Elem()
	if err := decodeStruct(list[1], v); err != nil {
		return nil, err
	}
	cmd := v.Interface().(scheduler.Command)
	if askMissing(cmd) {
		return nil, fmt.Errorf("%T has no ask", cmd)
	}
	return cmd, nil
}

// askMissing reports whether a command without an ask is about one.
func askMissing(cmd scheduler.Command) bool {
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		return m.Ask == nil
	case scheduler.SubmitAskWithClass:
		return m.Ask == nil
	case scheduler.ReportAllocation:
		return m.Ask == nil
	}
	return false
}
