package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Shape describes a type of message for Measure: which of its fields allocate objects when it is
// decoded. It is computed once per type, and is safe for concurrent use.
type Shape struct {
	baseCost int // memory of a message without fields, including its slot in a list
	rm       protowire.Number
	fields   []*fieldShape // by number; nil: a number, or an unknown field
}

// fieldShape is a field that is not a number.
type fieldShape struct {
	list     bool   // a repeated message
	entry    bool   // an entry of a map
	inner    *Shape // nil: a string
	textCost int    // of a string, without its bytes
}

// Size is the size of a message, known before it is decoded.
type Size struct {
	Elements int // messages in lists, at any depth: nodes, applications, allocations, releases
	Cost     int // upper bound of the bytes of memory to decode and handle the message
}

// Costs of decoding, in bytes, on 64-bit machines, rounded up. A test compares Cost with what
// decoding allocates.
const (
	costMessage  = 96  // an object, and the internal fields of the generated code
	costField    = 24  // the largest field: a list
	costText     = 32  // an object of the smallest size, and its slot
	costListSlot = 64  // a slot of a list that grows
	costEntry    = 224 // an entry of a map that doubles when it is full
	costMap      = 512 // the first entry of a map
	costElement  = 384 // the command or the answer for an element
)

// WorstCost is the maximum of Cost for each byte of a message.
const WorstCost = 512

// ShapeOf computes the Shape of a type of message. The type must not be recursive, and no field
// that allocates may have a number above 63.
func ShapeOf(d protoreflect.MessageDescriptor) *Shape {
	s := NewShape(d.Fields().Len())
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
		s.set(int(f.Number()), &p)
	}
	return s
}

// NewShape returns the Shape of a message with so many fields. They are numbers until others are added.
func NewShape(fields int) *Shape { return &Shape{baseCost: costMessage + costField*fields} }

// AddLike adds fields that are like those of a Shape, by their numbers, and returns s.
func (s *Shape) AddLike(other *Shape, numbers map[int]int) *Shape {
	for number, like := range numbers {
		s.set(number, other.fields[like])
	}
	s.baseCost += costField * len(numbers)
	return s
}

// AddMessage adds a field that is a message or a list of messages, or replaces a field by it, and returns s.
func (s *Shape) AddMessage(number int, inner *Shape, list bool) *Shape {
	s.set(number, &fieldShape{inner: inner, list: list})
	s.baseCost += costField
	return s
}

func (s *Shape) set(number int, f *fieldShape) {
	for len(s.fields) <= number {
		s.fields = append(s.fields, nil)
	}
	s.fields[number] = f
}

// yieldInterval is the number of fields between two calls of yield: about 50 µs.
const yieldInterval = 4096

// RM returns the rmID of a message without decoding other fields (RMI-36). The last one counts, as
// in protobuf. yield is called regularly, as there may be millions of fields. An error means that
// the bytes are not a valid message.
func (s *Shape) RM(b []byte, yield func()) (rm []byte, err error) {
	r := reader{rest: b}
	n := 0
	for tag := r.next(); tag != 0; tag = r.next() {
		n++
		if n%yieldInterval == 0 {
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

// Measure computes the size of a message without allocating. yield is called regularly (RMI-38). An
// error means that the bytes are not a valid message; invalid UTF-8 is not detected.
func (s *Shape) Measure(b []byte, yield func()) (Size, error) {
	m := measurement{size: Size{Cost: s.baseCost}, yield: yield}
	err := s.measure(b, &m)
	return m.size, err
}

// measurement is the result so far.
type measurement struct {
	size   Size
	fields int
	yield  func()
}

func (s *Shape) measure(b []byte, m *measurement) error {
	size := &m.size
	var maps uint64 // bits of the maps that have an entry
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		m.fields++
		if m.fields%yieldInterval == 0 {
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
