package wire

import "github.com/canopy-scheduler/canopy/pkg/resources"

// LegacyFields are fields of an ask or an allocation that the interfaces 1.0 to 1.5 have and 1.9 has not
// (ADR 58).
type LegacyFields struct {
	UUID           string // of an allocation, up to 1.4
	AllocationID   string // of an allocation, the same in 1.5
	PriorityClass  string // of 1.0: the priority as a name; Allocation.Priority is then 0
	MaxAllocations int32  // of an ask

	priority priorityForm
	number   int32 // the priority as a number in a message
}

// priorityForm is the form of a priority in 1.0: a message that has a number or the name of a class.
type priorityForm uint8

const (
	priorityUnset priorityForm = iota
	priorityNumber
	priorityClass
)

// legacyFields returns the legacy fields of an allocation, which has them from now on.
func (x *Allocation) legacyFields() *LegacyFields {
	if x.Legacy == nil {
		x.Legacy = &LegacyFields{}
	}
	return x.Legacy
}

// finishLegacy sets the priority of an ask or an allocation whose fields have all been read. In a message that
// has both forms of a priority, that of 1.0 counts.
func (x *Allocation) finishLegacy() {
	switch l := x.Legacy; l.priority {
	case priorityNumber:
		x.Priority = l.number
	case priorityClass:
		x.Priority = 0
	}
}

// Field numbers of the interfaces 1.0 to 1.5 which 1.9 reserves.
const (
	legacyAsks             = 1  // of AllocationRequest
	legacyAskReleases      = 2  // of AllocationReleasesRequest
	legacyUUID             = 3  // of Allocation and AllocationRelease, up to 1.4
	legacyQueueName        = 7  // of Allocation, 1.0
	legacyAllocationID     = 13 // of Allocation, 1.5
	legacyReleaseID        = 7  // of AllocationRelease, 1.5: allocationID
	legacyOccupied         = 5  // of NodeInfo
	legacyExisting         = 6  // of NodeInfo
	legacyMaxAllocations   = 5  // of AllocationAsk
	legacyPriorityMessage  = 6  // of Allocation and AllocationAsk, 1.0: a message instead of a number
	legacyPriorityClass    = 2  // of Priority
	legacyPriorityNumber   = 1  // of Priority
	legacyExecutionTimeout = 7  // of AllocationAsk; it means nothing to YuniKorn either
)

// legacyAsk decodes an AllocationAsk: an ask in a message of its own, with other numbers for the fields of an
// Allocation.
func (d *Decoder) legacyAsk(b []byte, x *Allocation) error {
	d.text, d.tags = reuse(d.text), reuse(d.tags)
	var key span
	var resource resourceParts
	legacy := x.legacyFields()
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			key = d.allocationText(&r)
		case 2*field | lengthDelimited:
			x.App = d.intern(&r)
		case 3*field | lengthDelimited:
			x.Partition = d.intern(&r)
		case 4*field | lengthDelimited:
			r.fail(d.addResourcePart(r.readBytes(), &resource))
		case legacyMaxAllocations*field | varint:
			legacy.MaxAllocations = r.readInt32()
		case legacyPriorityMessage*field | varint:
			x.Priority = r.readInt32()
		case legacyPriorityMessage*field | lengthDelimited:
			r.fail(d.legacyPriority(r.readBytes(), legacy))
		case legacyExecutionTimeout*field | varint:
			r.readVarint()
		case 8*field | lengthDelimited:
			r.fail(d.tag(r.readBytes()))
		case 9*field | lengthDelimited:
			x.TaskGroup = d.intern(&r)
		case 10*field | varint:
			x.Placeholder = r.readBool()
		case 11*field | varint:
			x.Originator = r.readBool()
		case 12*field | lengthDelimited:
			r.fail(policy(r.readBytes(), x))
		default:
			r.skip(tag)
		}
	}
	r.fail(d.finishResource(&resource, x))
	if r.err == nil {
		x.finishLegacy()
		d.setTexts(x, key)
	}
	return r.err
}

// legacyAllocationField decodes a field of an Allocation that 1.9 does not have, or skips an unknown one. A text
// that is empty is as good as none.
func (d *Decoder) legacyAllocationField(tag uint64, r *reader, x *Allocation) {
	switch tag {
	case legacyUUID*field | lengthDelimited:
		if uuid := d.intern(r); uuid != "" || x.Legacy != nil {
			x.legacyFields().UUID = uuid
		}
	case legacyAllocationID*field | lengthDelimited:
		if id := d.intern(r); id != "" || x.Legacy != nil {
			x.legacyFields().AllocationID = id
		}
	case legacyQueueName*field | lengthDelimited:
		readUTF8(r) // the queue is that of the application
	case legacyPriorityMessage*field | lengthDelimited:
		r.fail(d.legacyPriority(r.readBytes(), x.legacyFields()))
	default:
		r.skip(tag)
	}
}

// legacyPriority decodes a Priority; the last form of it counts.
func (d *Decoder) legacyPriority(b []byte, l *LegacyFields) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case legacyPriorityNumber*field | varint:
			l.priority, l.number, l.PriorityClass = priorityNumber, r.readInt32(), ""
		case legacyPriorityClass*field | lengthDelimited:
			l.priority, l.number, l.PriorityClass = priorityClass, 0, d.intern(&r)
		default:
			r.skip(tag)
		}
	}
	return r.err
}

// legacyAskRelease decodes an AllocationAskRelease.
func (d *Decoder) legacyAskRelease(b []byte, x *Release) error {
	r := reader{rest: b}
	var key []byte
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			x.Partition = d.intern(&r)
		case 2*field | lengthDelimited:
			x.App = d.intern(&r)
		case 3*field | lengthDelimited:
			key = readUTF8(&r)
		case 4*field | varint:
			x.Type = r.readInt32()
		case 5*field | lengthDelimited:
			readUTF8(&r) // the message is not used
		default:
			r.skip(tag)
		}
	}
	x.Key = string(key)
	return r.err
}

// LegacyNode has the fields of a node that 1.9 does not have.
type LegacyNode struct {
	Occupied    resources.Amounts // what others use on the node
	OccupiedErr error             // the error of ReadAmounts; Occupied is then empty
	HasOccupied bool
	Existing    []Allocation // that run on the node
}

// HasLegacyNodes reports whether a NodeRequest has such fields. It takes no memory. An invalid message has none.
func HasLegacyNodes(b []byte) bool {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		if tag != 1*field|lengthDelimited {
			r.skip(tag)
			continue
		}
		node := reader{rest: r.readBytes()}
		for tag := node.next(); tag != 0; tag = node.next() {
			if tag == legacyOccupied*field|lengthDelimited || tag == legacyExisting*field|lengthDelimited {
				return true
			}
			node.skip(tag)
		}
	}
	return false
}

// LegacyNodes decodes such fields of the nodes of a NodeRequest, in their order. Nothing refers to b.
func (d *Decoder) LegacyNodes(b []byte) ([]LegacyNode, error) {
	var nodes []LegacyNode
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			nodes = append(nodes, LegacyNode{})
			r.fail(d.legacyNode(r.readBytes(), &nodes[len(nodes)-1]))
		default:
			r.skip(tag)
		}
	}
	return nodes, r.err
}

func (d *Decoder) legacyNode(b []byte, n *LegacyNode) error {
	var occupied [][]byte // parts that are merged, decoded last: allocations use the same memory
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case legacyOccupied*field | lengthDelimited:
			occupied = append(occupied, r.readBytes())
		case legacyExisting*field | lengthDelimited:
			n.Existing = append(n.Existing, Allocation{})
			r.fail(d.allocation(r.readBytes(), &n.Existing[len(n.Existing)-1]))
		default:
			r.skip(tag)
		}
	}
	if len(occupied) == 0 || r.err != nil {
		return r.err
	}
	var parts resourceParts
	for _, p := range occupied {
		r.fail(d.addResourcePart(p, &parts))
	}
	var x Allocation
	r.fail(d.finishResource(&parts, &x))
	n.Occupied, n.OccupiedErr, n.HasOccupied = x.Amounts, x.AmountsErr, true
	return r.err
}
