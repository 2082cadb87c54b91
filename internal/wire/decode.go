package wire

import (
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ReadAmounts makes amounts of quantities that were sent, or says what is wrong with
// them. It does not keep the map, and its answers depend on nothing else.
type ReadAmounts func(map[string]resources.Quantity) (resources.Amounts, error)

// Decoder reads the messages of one stream, one after another. What repeats from
// message to message is kept once: names, and the amounts of asks of the same shape.
// An ask costs one text, which holds its key and the values of its tags, and a map
// when it has tags.
type Decoder struct {
	read    ReadAmounts
	names   memo[struct{}]
	amounts memo[reading]

	// Of the allocation that is being read.
	text       []byte // what will be its text
	tags       []tag
	quantities map[string]resources.Quantity
}

type reading struct {
	amounts resources.Amounts
	wrong   error
}

type tag struct {
	key   string
	value span
}

// span is a part of the text of an allocation.
type span struct{ from, to int }

func (s span) of(text string) string { return text[s.from:s.to] }

// NewDecoder returns a Decoder for a stream.
func NewDecoder(read ReadAmounts) *Decoder {
	return &Decoder{
		read: read, names: newMemo[struct{}](1024), amounts: newMemo[reading](512),
		quantities: map[string]resources.Quantity{},
	}
}

// Decode reads b into m, which forgets what it was before. Nothing in m refers to b.
// After an error m means nothing.
func (d *Decoder) Decode(b []byte, m *AllocationRequest) error {
	m.Reset()
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 2*field | chunk:
			r.fail(d.releases(r.chunk(), m))
		case 3*field | chunk:
			m.RM = d.name(&r)
		case 4*field | chunk:
			m.Allocations = append(m.Allocations, Allocation{})
			r.fail(d.allocation(r.chunk(), &m.Allocations[len(m.Allocations)-1]))
		default:
			m.Unknown = true
			r.skip(tag)
		}
	}
	return r.err
}

func (d *Decoder) releases(b []byte, m *AllocationRequest) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			m.Releases = append(m.Releases, Release{})
			r.fail(d.release(r.chunk(), &m.Releases[len(m.Releases)-1]))
		default:
			m.Unknown = true
			r.skip(tag)
		}
	}
	return r.err
}

func (d *Decoder) release(b []byte, x *Release) error {
	r := reader{rest: b}
	var key []byte
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			x.Partition = d.name(&r)
		case 2*field | chunk:
			x.App = d.name(&r)
		case 4*field | varint:
			x.Type = r.int32()
		case 5*field | chunk:
			valid(&r) // a message to nobody
		case 6*field | chunk:
			key = valid(&r)
		default:
			r.skip(tag)
		}
	}
	x.Key = string(key)
	return r.err
}

func (d *Decoder) allocation(b []byte, x *Allocation) error {
	d.text, d.tags = room(d.text), room(d.tags)
	var key span
	var resource parts
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			key = d.own(&r)
		case 2*field | chunk:
			r.fail(d.tag(r.chunk()))
		case 5*field | chunk:
			r.fail(d.resource(r.chunk(), &resource))
		case 6*field | varint:
			x.Priority = r.int32()
		case 8*field | chunk:
			x.Node = d.name(&r)
		case 9*field | chunk:
			x.App = d.name(&r)
		case 10*field | chunk:
			x.Partition = d.name(&r)
		case 11*field | chunk:
			x.TaskGroup = d.name(&r)
		case 12*field | varint:
			x.Placeholder = r.flag()
		case 14*field | varint:
			x.Originator = r.flag()
		case 15*field | chunk:
			r.fail(policy(r.chunk(), x))
		default:
			r.skip(tag)
		}
	}
	r.fail(d.settle(&resource, x))
	if r.err == nil {
		d.keep(x, key)
	}
	return r.err
}

// keep gives an allocation its own texts.
func (d *Decoder) keep(x *Allocation, key span) {
	text := string(d.text)
	x.Key = key.of(text)
	if len(d.tags) == 0 {
		return
	}
	x.Tags = make(map[string]string, len(d.tags))
	for _, t := range d.tags {
		x.Tags[t.key] = t.value.of(text)
	}
}

// tag reads one entry of the tags. What it leaves out is empty.
func (d *Decoder) tag(b []byte) error {
	var t tag
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			t.key = d.name(&r)
		case 2*field | chunk:
			t.value = d.own(&r)
		default:
			r.skip(tag)
		}
	}
	d.tags = append(d.tags, t)
	return r.err
}

func policy(b []byte, x *Allocation) error {
	x.Policy = x.Policy.With(objects.PolicySent, true)
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | varint:
			x.Policy = x.Policy.With(objects.PolicySelf, r.flag())
		case 2*field | varint:
			x.Policy = x.Policy.With(objects.PolicyOther, r.flag())
		default:
			r.skip(tag)
		}
	}
	return r.err
}

// valid reads a string, which must be UTF-8 even where nobody cares.
func valid(r *reader) []byte {
	b := r.chunk()
	if !utf8.Valid(b) {
		r.fail(errUTF8)
	}
	return b
}

// own reads a string that belongs to one allocation.
func (d *Decoder) own(r *reader) span {
	from := len(d.text)
	d.text = append(d.text, valid(r)...)
	return span{from, len(d.text)}
}

// name reads a string that others are likely to have, too.
func (d *Decoder) name(r *reader) string {
	b := r.chunk()
	if len(b) == 0 {
		return ""
	}
	if len(b) > longestMemo {
		if !utf8.Valid(b) {
			r.fail(errUTF8)
		}
		return string(b)
	}
	p, known := d.names.find(b)
	if known {
		return p.key // which was looked at when it came first
	}
	if !utf8.Valid(b) {
		r.fail(errUTF8)
		return ""
	}
	p.key, p.taken = string(b), true
	return p.key
}
