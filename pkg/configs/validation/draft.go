package validation

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A draft is a decoded part of the document with positions. It may be invalid. The reader
// reports problems of single values and leaves such values out of the draft; the checks
// report problems of several values together; a draft is built only if there are no errors.

// Position is a line and a column of the text, from 1. Zero: none.
type Position struct{ Line, Col int }

// At is a position.
func At(line, col int) Position { return Position{line, col} }

// Token is a text with its position.
type Token struct {
	Position
	Text string
}

// TokenAt is a text at a position.
func TokenAt(at Position, text string) Token { return Token{at, text} }

// Setting is one entry of a properties map.
type Setting struct{ Name, Value Token }

// Count is a number of applications. A missing value is zero and ok.
type Count struct {
	Position
	N  uint64
	OK bool // false: the value could not be read, so rules about it are silent
}

// Quantities is a map of resources to quantities, without those that could not be read.
type Quantities struct {
	Position
	IsSet     bool // written, and not null
	Broken    bool // some quantity could not be read
	N         map[string]resources.Quantity
	Positions map[string]Position
	Texts     map[string]string // as written
}

// isZero reports whether there are quantities, and all of them are zero.
func (q *Quantities) isZero() bool { return len(q.N) > 0 && q.hasNoQuantity() }

// hasNoQuantity reports whether there is no quantity above zero, and none that could not be read.
func (q *Quantities) hasNoQuantity() bool { return !q.Broken && !q.isPositive() }

// isPositive reports whether any quantity is above zero. Quantities are never negative.
func (q *Quantities) isPositive() bool {
	for _, n := range q.N {
		if n > 0 {
			return true
		}
	}
	return false
}

// DocumentDraft is a document that has been decoded, and not checked yet.
type DocumentDraft struct {
	Partitions             []*PartitionDraft
	Classes                []*ClassDraft
	Budgets                []*BudgetDraft
	HasClasses, HasBudgets bool // the document has the key
	Empty                  bool // the document has no value, perhaps comments
}

// PartitionDraft is a decoded partition. Of the embedded Partition, Name and the scalar settings are set; the drafts
// stand for the rest until it is built.
type PartitionDraft struct {
	Position
	configs.Partition
	Root                *QueueDraft
	Limits              []*LimitDraft
	LimitsAt            Position
	PlacementRules      []*PlacementRuleDraft
	Weights             []Token
	ClassesNeedingQuota []*ClassSelectorDraft
}

func (p *PartitionDraft) path() string { return "partition " + p.Name }

// pathPrefix is the beginning of paths inside the partition: its name in brackets, or nothing
// for the partition default.
func (p *PartitionDraft) pathPrefix() string {
	if p.Name == configs.DefaultPartition {
		return ""
	}
	return "[" + p.Name + "]"
}

// QueueDraft is a decoded queue with the queues below it.
type QueueDraft struct {
	Position
	Partition           *PartitionDraft
	ParentQueue         *QueueDraft // nil: this is root
	Name                string      // lower case
	Level               int         // root is 1
	ParentFlag          bool        // as written; see isParent
	Max, Guaranteed     Quantities
	MaxApplications     Count
	Settings            []Setting
	propertyCount       int // number of properties, inherited ones included; set by checkQueueProperties
	SubmitACL, AdminACL security.ACL
	ACLUnknown          bool // an access list could not be read
	Limits              []*LimitDraft
	ClassQuotas         []*ClassQuotaDraft
	classQuotaByMatch   map[string]*ClassQuotaDraft // the quotas for all users, by match; set by checkClassQuotas
	ChildTemplate       *ChildTemplateDraft
	Children            []*QueueDraft
	childByName         map[string]*QueueDraft         // index of children, set by child
	effectiveLimits     map[limitHolder]effectiveLimit // nil: no limits, or no children; set by checkInheritedLimits
}

// path is the full path of the queue, in lower case. A name that is too long is shortened,
// a missing one replaced by a question mark.
func (q *QueueDraft) path() string {
	if q.ParentQueue == nil {
		return q.Partition.pathPrefix() + configs.RootQueue
	}
	name := q.Name
	switch {
	case name == "":
		name = "?"
	case len(name) > configs.MaxQueueNameLength:
		name = strings.ToValidUTF8(name[:configs.MaxQueueNameLength], "") + "..."
	}
	return q.ParentQueue.path() + "." + name
}

// isParent reports whether the queue is a parent: by the flag, by having children, or as
// root (CFG-30).
func (q *QueueDraft) isParent() bool {
	return q.ParentQueue == nil || q.ParentFlag || len(q.Children) > 0
}

// child returns the child of that name, or nil.
func (q *QueueDraft) child(name string) *QueueDraft {
	if q.childByName == nil {
		q.childByName = make(map[string]*QueueDraft, len(q.Children))
		for _, c := range q.Children {
			q.childByName[c.Name] = c
		}
	}
	return q.childByName[name]
}

// ownSetting returns the queue's own setting of that name, if it has one.
func (q *QueueDraft) ownSetting(name string) (Setting, bool) { return find(q.Settings, name) }

func find(settings []Setting, name string) (Setting, bool) {
	for _, s := range settings {
		if s.Name.Text == name {
			return s, true
		}
	}
	return Setting{}, false
}

// ChildTemplateDraft is a decoded child template. An empty one is the same as none.
type ChildTemplateDraft struct {
	Position
	TooManyProperties bool // it has more than MaxProperties, those without a value included
	MaxApplications   Count
	Settings          []Setting
	Max, Guaranteed   Quantities
}

// IsEmpty reports whether the template has no setting, which is the same as no template
// (QUE-22).
func (t *ChildTemplateDraft) IsEmpty() bool {
	return !t.TooManyProperties && t.MaxApplications.N == 0 && len(t.Settings) == 0 &&
		len(t.Max.Texts) == 0 && len(t.Guaranteed.Texts) == 0
}

// LimitDraft is a decoded limit of users and groups.
type LimitDraft struct {
	Position
	Description     string
	Users, Groups   []Token
	Max             Quantities
	MaxApplications Count
	Broken          bool // a part of it could not be read, so missing values are not reported
}

// PlacementRuleDraft is a decoded placement rule with its parent rules.
type PlacementRuleDraft struct {
	Position
	Partition *PartitionDraft
	Label     string // placementrules[0].parent
	Kind      placement.Kind
	Valid     bool // the kind is known, and the rule has the value that it needs
	Create    bool
	Value     Token
	Filter    placement.Filter
	Parent    *PlacementRuleDraft
}

func (d *PlacementRuleDraft) path() string { return d.Partition.pathPrefix() + d.Label }

// chain is the rule with all its parent rules, the topmost parent first.
func (d *PlacementRuleDraft) chain() []*PlacementRuleDraft {
	if d.Parent == nil {
		return []*PlacementRuleDraft{d}
	}
	return append(d.Parent.chain(), d)
}
