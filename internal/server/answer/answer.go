// Package answer decodes the bodies of REST answers for the commands that are clients of a server.
//
// What the bodies have is left to package dao. The rule that must hold: an answer that is not what the command expects
// is an error, and never a zero value.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Decode decodes the body of an answer into the value that into points to: a struct, a list of structs, or a map. A
// body of another kind, such as null or the object of another program, is an error. So a client does not take the zero
// value for what a server has said. Of each object at least one field must be known: a server of another version may
// lack some, or have more.
func Decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	return checkKind(body, reflect.TypeOf(into).Elem())
}

// checkKind reports why a body is not of a type.
func checkKind(body []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return fmt.Errorf("the answer has null in place of %s", kindName(t))
	}
	switch t.Kind() {
	case reflect.Slice:
		var elements []json.RawMessage
		if err := json.Unmarshal(body, &elements); err != nil {
			return err
		}
		for _, e := range elements {
			if err := checkKind(e, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			return err
		}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			for key := range fields {
				if strings.EqualFold(key, name) {
					return nil
				}
			}
		}
		return fmt.Errorf("the answer has an object of another kind: %.60s", bytes.TrimSpace(body))
	}
	return nil
}

// kindName returns the word of JSON for values of a type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a value"
}
