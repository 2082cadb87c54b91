package wire

import (
	"bytes"
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ReadAmounts converts received quantities, or returns an error. It must not keep the map, and
// its result must depend on nothing else: results are memoized.
type ReadAmounts func(map[string]resources.Quantity) (resources.Amounts, error)

// Decoder decodes the messages of one stream. Names, and the amounts of asks with the same
// resource, are kept in a memo for later messages. An ask allocates one string, for its key and
// the values of its tags, and a map if it has tags.
type Decoder struct {
	readAmounts ReadAmounts
	names       memo[struct{}]
	amounts     memo[amountsResult]

	// Of the allocation that is being decoded.
	text       []byte // key and values of tags
	tags       []tag
	quantities map[string]resources.Quantity
}

type amountsResult struct {
	amounts resources.Amounts
	err     error
}

type tag struct {
	key   string
	value span
}

// span is a part of the string of an allocation.
type span struct{ from, to int }

func (s span) of(text string) string { return text[s.from:s.to] }

// NewDecoder returns a Decoder for one stream.
func NewDecoder(read ReadAmounts) *Decoder {
	return &Decoder{
		readAmounts: read, names: newMemo[struct{}](1024), amounts: newMemo[amountsResult](512),
		quantities: map[string]resources.Quantity{},
	}
}

// Decode decodes b into m and replaces its content. m does not refer to b. After an error the
// content of m is undefined.
func (d *Decoder) Decode(b []byte, m *AllocationRequest) error {
	m.Reset()
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 2*field | lengthDelimited:
			r.fail(d.releases(r.readBytes(), m))
		case 3*field | lengthDelimited:
			m.RM = d.intern(&r)
		case 4*field | lengthDelimited:
			m.Allocations = append(m.Allocations, Allocation{})
			x := &m.Allocations[len(m.Allocations)-1]
			r.fail(d.allocation(r.readBytes(), x))
			m.Legacy = m.Legacy || x.Legacy != nil && *x.Legacy != LegacyFields{}
		case legacyAsks*field | lengthDelimited:
			m.Asks, m.Legacy = append(m.Asks, Allocation{}), true
			r.fail(d.legacyAsk(r.readBytes(), &m.Asks[len(m.Asks)-1]))
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
		case 1*field | lengthDelimited:
			m.Releases = append(m.Releases, Release{})
			x := &m.Releases[len(m.Releases)-1]
			r.fail(d.release(r.readBytes(), x))
			m.Legacy = m.Legacy || x.UUID != ""
		case legacyAskReleases*field | lengthDelimited:
			m.AskReleases, m.Legacy = append(m.AskReleases, Release{}), true
			r.fail(d.legacyAskRelease(r.readBytes(), &m.AskReleases[len(m.AskReleases)-1]))
		default:
			m.Unknown = true
			r.skip(tag)
		}
	}
	return r.err
}

func (d *Decoder) release(b []byte, x *Release) error {
	r := reader{rest: b}
	var key, uuid, id []byte
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			x.Partition = d.intern(&r)
		case 2*field | lengthDelimited:
			x.App = d.intern(&r)
		case 4*field | varint:
			x.Type = r.readInt32()
		case 5*field | lengthDelimited:
			if message := readUTF8(&r); bytes.HasPrefix(message, []byte(NodeRefused)) {
				x.Message = string(message)
			}
		case 6*field | lengthDelimited:
			key = readUTF8(&r)
		case legacyUUID*field | lengthDelimited:
			uuid = readUTF8(&r)
		case legacyReleaseID*field | lengthDelimited:
			id = readUTF8(&r)
		default:
			r.skip(tag)
		}
	}
	x.Key, x.UUID = string(key), string(uuid)
	if len(id) > 0 {
		x.UUID = string(id)
	}
	return r.err
}

func (d *Decoder) allocation(b []byte, x *Allocation) error {
	d.text, d.tags = reuse(d.text), reuse(d.tags)
	var key span
	var resource resourceParts
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			key = d.allocationText(&r)
		case 2*field | lengthDelimited:
			r.fail(d.tag(r.readBytes()))
		case 5*field | lengthDelimited:
			r.fail(d.addResourcePart(r.readBytes(), &resource))
		case 6*field | varint:
			x.Priority = r.readInt32()
		case 8*field | lengthDelimited:
			x.Node = d.intern(&r)
		case 9*field | lengthDelimited:
			x.App = d.intern(&r)
		case 10*field | lengthDelimited:
			x.Partition = d.intern(&r)
		case 11*field | lengthDelimited:
			x.TaskGroup = d.intern(&r)
		case 12*field | varint:
			x.Placeholder = r.readBool()
		case 14*field | varint:
			x.Originator = r.readBool()
		case 15*field | lengthDelimited:
			r.fail(policy(r.readBytes(), x))
		default:
			d.legacyAllocationField(tag, &r, x)
		}
	}
	r.fail(d.finishResource(&resource, x))
	if x.Legacy != nil {
		x.finishLegacy()
	}
	if r.err == nil {
		d.setTexts(x, key)
	}
	return r.err
}

// setTexts sets the strings of an allocation that are not in the memo.
func (d *Decoder) setTexts(x *Allocation, key span) {
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

// tag decodes one entry of the tags. A missing key or value is empty.
func (d *Decoder) tag(b []byte) error {
	var t tag
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			t.key = d.intern(&r)
		case 2*field | lengthDelimited:
			t.value = d.allocationText(&r)
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
			x.Policy = x.Policy.With(objects.PolicyAllowPreemptSelf, r.readBool())
		case 2*field | varint:
			x.Policy = x.Policy.With(objects.PolicyAllowPreemptOther, r.readBool())
		default:
			r.skip(tag)
		}
	}
	return r.err
}

// readUTF8 reads a string, which must be UTF-8 even in an unused field.
func readUTF8(r *reader) []byte {
	b := r.readBytes()
	if !utf8.Valid(b) {
		r.fail(errUTF8)
	}
	return b
}

// allocationText reads a string of one allocation.
func (d *Decoder) allocationText(r *reader) span {
	from := len(d.text)
	d.text = append(d.text, readUTF8(r)...)
	return span{from, len(d.text)}
}

// intern reads a string that is likely to repeat, and returns the one in the memo.
func (d *Decoder) intern(r *reader) string {
	b := r.readBytes()
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxMemoKey {
		if !utf8.Valid(b) {
			r.fail(errUTF8)
		}
		return string(b)
	}
	slot, known := d.names.lookup(b)
	if known {
		return slot.key // it was validated when it was added
	}
	if !utf8.Valid(b) {
		r.fail(errUTF8)
		return ""
	}
	slot.key, slot.used = string(b), true
	return slot.key
}
