package webservice

import (
	"reflect"
	"strings"
)

// withFields is the JSON of an object, which is compact, with the fields of the page only.
func (p page) withFields(object pieces) pieces {
	if p.fields == nil {
		return object
	}
	return func(yield func([]byte) bool) {
		f := fieldFilter{wanted: p.fields}
		for piece := range object {
			f.out = f.out[:0]
			f.add(piece)
			if len(f.out) > 0 && !yield(f.out) {
				return
			}
		}
	}
}

// fieldFilter leaves out fields of a JSON object, in their order.
type fieldFilter struct {
	wanted   map[string]bool
	out      []byte
	depth    int
	inString bool
	escaped  bool   // the last byte was a backslash in a string
	inName   bool   // the string is the name of a field of the object itself
	atName   bool   // such a name comes next
	name     []byte // its text so far
	kept     bool   // the field is wanted
	any      bool   // a field was kept
}

func (f *fieldFilter) add(piece []byte) {
	for _, c := range piece {
		switch {
		case f.inName && c == '"':
			f.endName()
		case f.inName:
			f.name = append(f.name, c)
		case f.inString:
			f.inString = f.escaped || c != '"'
			f.escaped = !f.escaped && c == '\\'
			f.keep(c)
		case c == '"' && f.atName:
			f.inName, f.atName, f.name = true, false, f.name[:0]
		case c == ',' && f.depth == 1:
			f.atName = true
		default:
			f.structure(c)
		}
	}
}

// endName begins the field whose name is complete.
func (f *fieldFilter) endName() {
	f.inName = false
	f.kept = f.wanted[string(f.name)]
	if !f.kept {
		return
	}
	if f.any {
		f.out = append(f.out, ',')
	}
	f.any = true
	f.out = append(append(append(f.out, '"'), f.name...), '"')
}

// structure adds a byte outside of strings and names.
func (f *fieldFilter) structure(c byte) {
	switch c {
	case '"':
		f.inString = true
	case '{', '[':
		f.depth++
		if f.depth == 1 {
			f.atName = true
			f.out = append(f.out, c)
			return
		}
	case '}', ']':
		f.depth--
		if f.depth == 0 {
			f.out = append(f.out, c)
			return
		}
	}
	f.keep(c)
}

func (f *fieldFilter) keep(c byte) {
	if f.kept {
		f.out = append(f.out, c)
	}
}

// fieldNames are the names of the fields of a body in JSON, in their order.
func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			names = append(names, fieldNames(field.Type)...)
		case name == "-" || !field.IsExported():
		case name == "":
			names = append(names, field.Name)
		default:
			names = append(names, name)
		}
	}
	return names
}
