package recording

import (
	"fmt"
	"reflect"

	"github.com/canopy-scheduler/canopy/pkg/objects"
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

// appendCommand appends a command as a list of its number and its fields. The frequent commands are written without
// reflection, to the same bytes.
func appendCommand(b []byte, cmd scheduler.Command) []byte {
	b = append(b, majorArray|2)
	switch m := cmd.(type) {
	case scheduler.SubmitAsk:
		if m.Ask != nil {
			return appendAsk(append(b, 11, majorMap|1, 1), m.Ask)
		}
	case scheduler.SubmitAskWithClass:
		if m.RejectReason == "" && m.RejectKind == "" && m.AllowedUsers == nil && m.Ask != nil {
			b = appendAsk(append(b, 12, majorMap+1+countSet(m.Class != "", m.NamedClass != ""), 1), m.Ask)
			return appendIfSet(appendIfSet(b, 4, m.Class), 5, m.NamedClass)
		}
	case scheduler.ReportAllocation:
		if m.Ask != nil {
			b = appendAsk(append(b, 13, majorMap+1+countSet(m.Node != "", m.Class != ""), 1), m.Ask)
			return appendIfSet(appendIfSet(b, 2, m.Node), 3, m.Class)
		}
	case scheduler.Release:
		b = append(b, 14, majorMap+countSet(m.App != "", m.Key != "", m.Type != 0, m.Scope != 0))
		b = appendIfSet(appendIfSet(b, 1, m.App), 2, m.Key)
		return appendIntIfSet(appendIntIfSet(b, 3, int64(m.Type)), 4, int64(m.Scope))
	}
	v := reflect.ValueOf(cmd)
	number, ok := commandNumbers[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: %T has no number", cmd))
	}
	return appendStruct(appendHead(b, majorUnsigned, number), v)
}

// appendAsk is appendStruct for an ask.
func appendAsk(b []byte, a *objects.Ask) []byte {
	b = append(b, majorMap+countSet(a.Key != "", a.App != "", !isUnset(a), a.Created != 0, a.Details != nil, a.Priority != 0, a.Placeholder, a.Originator, a.Policy != 0))
	b = appendIfSet(appendIfSet(b, 1, a.Key), 2, a.App)
	if !isUnset(a) {
		b = appendHead(append(b, 3), majorArray, uint64(2*a.Amounts.Len()))
		for i := range a.Amounts.Len() {
			name, n := a.Amounts.Entry(i)
			b = appendInt(appendString(b, name), int64(n))
		}
	}
	b = appendIntIfSet(b, 4, int64(a.Created))
	if d := a.Details; d != nil {
		b = append(b, 5, majorMap+countSet(d.TaskGroup != "", d.RequiredNode != "", d.Tags != nil))
		b = appendIfSet(appendIfSet(b, 1, d.TaskGroup), 2, d.RequiredNode)
		if d.Tags != nil {
			b = appendStrings(append(b, 3), d.Tags)
		}
	}
	b = appendIntIfSet(b, 6, int64(a.Priority))
	if a.Placeholder {
		b = append(b, 7, cborTrue)
	}
	if a.Originator {
		b = append(b, 8, cborTrue)
	}
	return appendIntIfSet(b, 9, int64(a.Policy))
}

// isUnset reports whether an ask has no quantities.
func isUnset(a *objects.Ask) bool { return a.Amounts.Len() == 0 }

// countSet is how many of the fields are set. Requires: less than 24 are.
func countSet(fields ...bool) (n byte) {
	for _, set := range fields {
		if set {
			n++
		}
	}
	return n
}

func appendIfSet[S ~string](b []byte, number byte, s S) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, number), s)
}

func appendIntIfSet(b []byte, number byte, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendInt(append(b, number), n)
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
