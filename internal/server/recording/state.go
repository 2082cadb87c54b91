package recording

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/server/objectgraph"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The state of a Core as bytes, from which another Core goes on: one that was read makes the same effects as the one
// that was written, for all steps that follow. How objects are written is left to package objectgraph, and what may be
// held and pointed to is said by scheduler.Held and scheduler.Variables.

// stateSchema is the schema of a Core.
var stateSchema = sync.OnceValues(func() (*objectgraph.Schema, error) {
	var held []reflect.Type
	for _, v := range scheduler.Held() {
		held = append(held, reflect.TypeOf(v))
	}
	return objectgraph.NewSchema(reflect.TypeFor[scheduler.Core](), held, scheduler.Variables()...)
})

// EncodeState writes the state of a Core. oracle is the one that it has.
func EncodeState(core *scheduler.Core, oracle scheduler.Oracle) ([]byte, error) {
	s, err := stateSchema()
	if err != nil {
		return nil, err
	}
	return s.Encode(core, externalOf(oracle)...)
}

// DecodeState reads a Core that makes the decisions which the one that was written would have made, and asks oracle.
func DecodeState(data []byte, oracle scheduler.Oracle) (*scheduler.Core, error) {
	s, err := stateSchema()
	if err != nil {
		return nil, err
	}
	root, holes, err := s.Decode(data, externalOf(oracle)...)
	if err != nil {
		return nil, err
	}
	core := root.(*scheduler.Core)
	if err := reattach(core); err != nil {
		return nil, err
	}
	for _, h := range holes {
		if !h.Filled() {
			return nil, fmt.Errorf("recording: %s has no function", h.Field)
		}
	}
	return core, nil
}

// reattach completes a Core that was read. Bytes that nothing has written may have all types right and lack an object.
func reattach(core *scheduler.Core) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("recording: %w: %v", objectgraph.ErrMalformed, x)
		}
	}()
	core.Reattach()
	return nil
}

func externalOf(oracle scheduler.Oracle) []any {
	if oracle == nil {
		return nil
	}
	return []any{oracle}
}

// usableState reports whether a state was written by a program with the same types.
func usableState(data []byte) bool {
	s, err := stateSchema()
	return err == nil && s.Reads(data)
}
