package feasibility

import (
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Request holds what decides on which nodes an ask fits.
type Request struct {
	Amounts      resources.Amounts
	RequiredNode string           // the ID of the only node; empty: any
	Constraints  *constraints.Ask // nil: none
}

// Shape stands for all asks with the same resources, required node and constraints: they fit the same nodes. They share
// one Shape, so that a check of one holds for all. (A production trace of 8,152 tasks has 151 shapes.)
type Shape struct {
	request    Request
	vector     resources.Vector // the amounts of request as a vector
	isBucket   bool             // it stands for shapes that have no slot of their own
	pinned     bool             // a bucket of shapes that require one node each
	plain      bool             // it has no required node and no constraints
	refs       int              // number of asks and allocations of this shape
	slot       int              // index in masks
	slotMask   Mask             // the mask of that slot
	bucket     *Shape           // the bucket that has the slot; nil: it has a slot of its own
	noFitSince uint64           // it fits no node except freed ones from this sequence number on; 0: unknown
	variant    Variant          // of another shape
	variants   [Variants]*Shape // those in use; the first is unused
	kind       string           // once Kind was called
}

// Variant distinguishes asks of one shape that freed resources do not help alike, such as those of an application that
// may not start. Each variant of a shape has a slot of its own, so that a mask can have the asks of one variant and not
// those of another. Zero is the shape itself.
type Variant uint8

// Variants is the number of variants.
const Variants = 3

// NewShape returns a shape without a slot; masks cannot be used for it.
func NewShape(request Request, vector resources.Vector) *Shape {
	return &Shape{request: request, vector: vector, plain: request.RequiredNode == "" && request.Constraints == nil}
}

// Request returns the request of the asks of this shape.
func (s *Shape) Request() Request { return s.request }

// Amounts returns the resources that an ask of this shape requests.
func (s *Shape) Amounts() resources.Amounts { return s.request.Amounts }

// Vector returns Amounts as a vector. Read-only.
func (s *Shape) Vector() resources.Vector { return s.vector }

// RequiredNode returns the ID of the only node on which an ask of this shape may be placed; empty: any.
func (s *Shape) RequiredNode() string { return s.request.RequiredNode }

// Exact reports whether the shape has a slot of its own. Otherwise masks hold for its bucket and
// the caller must check the shape itself.
func (s *Shape) Exact() bool { return s.bucket == nil }

// Slot returns the index of s, or of its bucket, in masks.
func (s *Shape) Slot() int { return s.slot }

// Mask returns the mask with Slot alone. Read-only.
func (s *Shape) Mask() Mask { return s.slotMask }

// Variant returns the number of the variant; zero: s is no variant of another shape.
func (s *Shape) Variant() Variant { return s.variant }

// OfVariant returns the variant v of s; zero: s itself. nil: it is not in use.
func (s *Shape) OfVariant(v Variant) *Shape {
	if v == 0 {
		return s
	}
	return s.variants[v]
}

// Users returns how many times s was acquired and not released.
func (s *Shape) Users() int { return s.refs }

// Constraints returns the constraints of an ask of this shape on nodes; nil: none.
func (s *Shape) Constraints() *constraints.Ask { return s.request.Constraints }

// Unconstrained reports whether an ask of s has no required node and no constraints; of a bucket it is false.
func (s *Shape) Unconstrained() bool { return s.plain }

// AcceptsNode reports whether an ask of s may be placed on n, if there are enough free resources. An ask that requires
// an unschedulable node may (NOD-11, ASK-30): pods of DaemonSets run on cordoned nodes too.
func (s *Shape) AcceptsNode(n *constraints.Node, schedulable bool) bool {
	if s.request.RequiredNode != "" {
		schedulable = s.request.RequiredNode == n.Name()
	}
	return (schedulable || s.pinned) && s.Admits(n)
}

// Admits reports whether the constraints of an ask of s admit n, and n does not refuse the ask. A bucket admits every
// node: one of its shapes may.
func (s *Shape) Admits(n *constraints.Node) bool {
	return s.isBucket || s.request.Constraints.Match(n) == constraints.Matches && !s.RefusedBy(n)
}

// RefusedBy reports whether n has refused the ask of s, or asks of its kind, and the back-off has not ended (NOD-44).
func (s *Shape) RefusedBy(n *constraints.Node) bool { return n.Refuses(s.request.Constraints, s.Kind) }

// Kind returns a text that is equal for shapes whose asks have equal requests, whatever nodes have refused them and
// whatever topology domain their gang is in. A node refuses asks by kind (NOD-46).
func (s *Shape) Kind() string {
	if s.kind == "" {
		parsed := s.request
		parsed.Constraints = parsed.Constraints.Parsed()
		s.kind = string(appendShapeKey(nil, parsed))
	}
	return s.kind
}

// appendShapeKey appends the key of a request. Two requests have the same key if and only if they have the same shape:
// each name is preceded by its length, so keys are unambiguous.
func appendShapeKey(b []byte, r Request) []byte {
	b = appendName(b, r.RequiredNode)
	b = appendName(b, r.Constraints.Key())
	for name, n := range r.Amounts.All() {
		b = strconv.AppendInt(appendName(b, name), int64(n), 10)
		b = append(b, ';')
	}
	return b
}

func appendName(b []byte, name string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(name)), 10), ':'), name...)
}
