package dao

import (
	"encoding/json"
	"iter"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// List is a JSON list whose elements are made while it is written: an answer with thousands of them is never in memory
// as a whole. A nil List is null, and left out of a field with omitzero.
type List[T any] iter.Seq[T]

// ListOf returns the list of what show makes of the values of a sequence.
func ListOf[V, T any](all iter.Seq[V], show func(V) T) List[T] {
	return func(yield func(T) bool) {
		for x := range all {
			if !yield(show(x)) {
				return
			}
		}
	}
}

// MarshalJSONTo writes the list element by element.
func (l List[T]) MarshalJSONTo(to *jsontext.Encoder) error {
	if l == nil {
		return to.WriteToken(jsontext.Null)
	}
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	var element T // in one place: an interface with its address needs no memory of its own for each
	for element = range l {
		if err := jsonv2.MarshalEncode(to, &element); err != nil {
			return err
		}
	}
	return to.WriteToken(jsontext.EndArray)
}

// UnmarshalJSON reads the whole list.
func (l *List[T]) UnmarshalJSON(text []byte) error {
	var all []T
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*l = List[T](slices.Values(all))
	return nil
}
