package wire

import (
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Response is an AllocationResponse that is being encoded. The zero value is empty. Fields with
// their zero value are left out.
type Response struct {
	bytes []byte
	err   error
}

// Bytes returns the message, which is valid until the next Reset. Invalid UTF-8 is an error,
// because no client could decode the message.
func (m *Response) Bytes() ([]byte, error) { return m.bytes, m.err }

// Reset starts a new message.
func (m *Response) Reset() {
	const maxCapacity = 1 << 17 // capacity that a stream may keep
	if cap(m.bytes) > maxCapacity {
		m.bytes = nil
	}
	m.bytes, m.err = m.bytes[:0], nil
}

// Allocated adds an allocation. It has neither priority nor tags nor partition, as in YuniKorn.
func (m *Response) Allocated(ask *objects.Ask, on objects.NodeID) {
	x := m.open(1)
	m.allocation(ask, on)
	m.close(x)
}

func (m *Response) allocation(ask *objects.Ask, on objects.NodeID) {
	m.text(1, string(ask.Key))
	m.resource(5, ask.Amounts)
	m.text(8, string(on))
	m.text(9, string(ask.App))
	m.text(11, ask.TaskGroup())
	m.flag(12, ask.Placeholder)
	m.flag(14, ask.Originator)
	if ask.Policy.Sent() {
		p := m.open(15)
		m.flag(1, ask.Policy.AllowPreemptSelf())
		m.flag(2, ask.Policy.AllowPreemptOther())
		m.close(p)
	}
}

// Released adds a release. The caller provides partition and message in the form for the RM.
func (m *Response) Released(e scheduler.Released, partition, message string) {
	x := m.open(2)
	m.release(e, partition, message)
	m.close(x)
}

func (m *Response) release(e scheduler.Released, partition, message string) {
	m.text(1, partition)
	m.text(2, string(e.App))
	m.number(4, int64(e.Type))
	m.text(5, message)
	m.text(6, string(e.Key))
}

// AskRejected adds a rejection. The caller provides the reason in the form for the RM.
func (m *Response) AskRejected(e scheduler.AskRejected, reason string) {
	m.rejection(5, e, reason)
}

func (m *Response) rejection(list protowire.Number, e scheduler.AskRejected, reason string) {
	x := m.open(list)
	m.text(1, string(e.Key))
	m.text(2, string(e.App))
	m.text(3, reason)
	m.close(x)
}

func (m *Response) resource(num protowire.Number, a resources.Amounts) {
	x := m.open(num)
	for name, n := range a.All() {
		entry := m.open(1)
		m.text(1, name)
		value := m.open(2)
		m.number(1, int64(n))
		m.close(value)
		m.close(entry)
	}
	m.close(x)
}

func (m *Response) text(num protowire.Number, s string) {
	if s == "" {
		return
	}
	if !utf8.ValidString(s) && m.err == nil {
		m.err = errUTF8
	}
	m.tag(num, protowire.BytesType)
	m.bytes = protowire.AppendString(m.bytes, s)
}

func (m *Response) number(num protowire.Number, n int64) {
	if n == 0 {
		return
	}
	m.tag(num, protowire.VarintType)
	m.bytes = protowire.AppendVarint(m.bytes, uint64(n))
}

func (m *Response) flag(num protowire.Number, yes bool) {
	if yes {
		m.number(num, 1)
	}
}

func (m *Response) tag(num protowire.Number, typ protowire.Type) {
	m.bytes = protowire.AppendTag(m.bytes, num, typ)
}

// open starts a nested message and reserves one byte for its length.
func (m *Response) open(num protowire.Number) (start int) {
	m.tag(num, protowire.BytesType)
	m.bytes = append(m.bytes, 0)
	return len(m.bytes)
}

// close sets the length of what was added since open, and moves the content if the length needs
// more bytes. Copying is cheaper here than computing all lengths first.
func (m *Response) close(start int) {
	n := uint64(len(m.bytes) - start)
	if n < 0x80 {
		m.bytes[start-1] = byte(n)
		return
	}
	extra := protowire.SizeVarint(n) - 1
	m.bytes = slices.Grow(m.bytes, extra)[:len(m.bytes)+extra]
	copy(m.bytes[start+extra:], m.bytes[start:])
	protowire.AppendVarint(m.bytes[:start-1], n)
}
