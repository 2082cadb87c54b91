package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Shape is what Measure knows of a kind of message: which of its fields make objects when
// it is decoded. It is made once for a kind and may be used by any number of goroutines.
type Shape struct {
	baseCost int // memory of a message without fields, with its place in a list
	rm       protowire.Number
	fields   []*fieldShape // by number; nil: a number, or unknown
}

// fieldShape is a field that is more than a number.
type fieldShape struct {
	list     bool   // a message of which there can be any number
	entry    bool   // of a map
	inner    *Shape // nil: a text
	textCost int    // of a text, besides its bytes
}

// Size is what there is in a message before it is decoded.
type Size struct {
	Elements int // messages in lists, at any depth: nodes, applications, allocations, releases
	Cost     int // bytes of memory to decode the message and to take it, and not less
}

// What decoding costs, in bytes. The figures are those of 64-bit machines, rounded up: a
// test holds Cost against what decoding really allocates.
const (
	costMessage  = 96  // an object, and what the generated code keeps beside its fields
	costField    = 24  // the largest field: a list
	costText     = 32  // an object of the smallest size, and its place
	costListSlot = 64  // a place in a list that grows
	costEntry    = 224 // an entry of a map that doubles when it is full
	costMap      = 512 // the first entry of a map
	costElement  = 320 // the command that an element becomes, or the answer to it
)

// WorstCost is how many times its length a message can cost at most.
const WorstCost = 512

// ShapeOf makes the Shape of a kind of message. Requires: no message can hold one of its own
// kind, and no field that makes objects has a number above 63.
func ShapeOf(d protoreflect.MessageDescriptor) *Shape {
	s := &Shape{baseCost: costMessage + costField*d.Fields().Len()}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		p := fieldShape{entry: f.IsMap()}
		switch f.Kind() {
		case protoreflect.MessageKind:
			p.inner = ShapeOf(f.Message())
			p.list = f.IsList()
		case protoreflect.StringKind:
			p.textCost = costText
			if f.IsList() {
				p.textCost += costListSlot
			}
		default:
			continue
		}
		if f.Name() == "rmID" {
			s.rm = f.Number()
		}
		for len(s.fields) <= int(f.Number()) {
			s.fields = append(s.fields, nil)
		}
		s.fields[f.Number()] = &p
	}
	return s
}

// yieldInterval is how many fields are read before others may go on: about 50 µs.
const yieldInterval = 4096

// RM is the rmID of a message, read without looking into anything else. As everywhere, the
// last one counts. yield is called now and then, as the field may be the last of millions. An error
// means that the bytes are no message.
func (s *Shape) RM(b []byte, yield func()) (rm []byte, err error) {
	r := reader{rest: b}
	n := 0
	for tag := r.next(); tag != 0; tag = r.next() {
		if n++; n%yieldInterval == 0 {
			yield()
		}
		if tag == uint64(s.rm)*field|lengthDelimited {
			rm = r.readBytes()
			continue
		}
		r.skip(tag)
	}
	return rm, r.err
}

// Measure finds out what there is in a message without making anything. yield is called now and
// then. An error means that the bytes are no message; there is none only if every field has its
// end, not if every text is one.
func (s *Shape) Measure(b []byte, yield func()) (Size, error) {
	m := measurement{size: Size{Cost: s.baseCost}, yield: yield}
	err := s.measure(b, &m)
	return m.size, err
}

// measurement is what has been found so far.
type measurement struct {
	size   Size
	fields int
	yield  func()
}

func (s *Shape) measure(b []byte, m *measurement) error {
	size := &m.size
	var maps uint64 // numbers of the maps that have an entry
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		if m.fields++; m.fields%yieldInterval == 0 {
			m.yield()
		}
		n := tag / field
		if tag%field != lengthDelimited || n >= uint64(len(s.fields)) || s.fields[n] == nil {
			r.skip(tag)
			continue
		}
		p, value := s.fields[n], r.readBytes()
		if p.inner == nil {
			size.Cost += p.textCost + len(value)
			continue
		}
		size.Cost += p.inner.baseCost
		switch {
		case p.list:
			size.Elements++
			size.Cost += costElement
		case p.entry:
			size.Cost += costEntry
			if maps&(1<<n) == 0 {
				maps |= 1 << n
				size.Cost += costMap
			}
		}
		r.fail(p.inner.measure(value, m))
	}
	return r.err
}
