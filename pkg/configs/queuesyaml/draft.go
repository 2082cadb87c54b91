package queuesyaml

import (
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A draft is a decoded part of the document with positions. It may be invalid. The reader
// reports problems of single values and leaves such values out of the draft; the checks
// report problems of several values together; a draft is built only if there are no errors.

// position is a line and a column of the text, from 1. Zero: none.
type position struct{ line, col int }

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// token is a text with its position.
type token struct {
	position
	text string
}

// setting is one entry of a properties map.
type setting struct{ name, value token }

// count is a number of applications. A missing value is zero and ok.
type count struct {
	position
	n  uint64
	ok bool // false: the value could not be read, so rules about it are silent
}

// quantities is a map of resources to quantities, without those that could not be read.
type quantities struct {
	position
	isSet     bool // written, and not null
	broken    bool // some quantity could not be read
	n         map[string]resources.Quantity
	positions map[string]position
	texts     map[string]string // as written
}

// isZero reports whether there are quantities, and all of them are zero.
func (q *quantities) isZero() bool { return len(q.n) > 0 && q.hasNoQuantity() }

// hasNoQuantity reports whether there is no quantity above zero, and none that could not be read.
func (q *quantities) hasNoQuantity() bool { return !q.broken && !q.isPositive() }

// isPositive reports whether any quantity is above zero. Quantities are never negative.
func (q *quantities) isPositive() bool {
	for _, n := range q.n {
		if n > 0 {
			return true
		}
	}
	return false
}

type documentDraft struct {
	partitions             []*partitionDraft
	classes                []*classDraft
	budgets                []*budgetDraft
	hasClasses, hasBudgets bool // the document has the key
	empty                  bool // the document has no value, perhaps comments
}

type partitionDraft struct {
	position
	name                   string
	root                   *queueDraft
	limits                 []*limitDraft
	limitsAt               position
	placementRules         []*ruleDraft
	nodeSortPolicy         policies.NodeSortPolicy
	weights                []token
	priorityDisabled       bool
	preemptionEnabled      bool
	quotaPreemptionEnabled bool
	nodePressureEnabled    bool
	nominationTimeout      time.Duration // nominationtimeout
	churn                  configs.Churn
	userGroupResolver      string
	classesNeedingQuota    []*classSelectorDraft
}

func (p *partitionDraft) path() string { return "partition " + p.name }

// pathPrefix is the beginning of paths inside the partition: its name in brackets, or nothing
// for the partition default.
func (p *partitionDraft) pathPrefix() string {
	if p.name == configs.DefaultPartition {
		return ""
	}
	return "[" + p.name + "]"
}

type queueDraft struct {
	position
	partition           *partitionDraft
	parentQueue         *queueDraft // nil: this is root
	name                string      // lower case
	level               int         // root is 1
	parentFlag          bool        // as written; see isParent
	max, guaranteed     quantities
	maxApplications     count
	settings            []setting
	propertyCount       int // number of properties, inherited ones included; set by checkQueueProperties
	submitACL, adminACL security.ACL
	aclUnknown          bool // an access list could not be read
	limits              []*limitDraft
	classQuotas         []*classQuotaDraft
	classQuotaByMatch   map[string]*classQuotaDraft // the quotas for all users, by match; set by checkClassQuotas
	childTemplate       *childTemplateDraft
	children            []*queueDraft
	childByName         map[string]*queueDraft         // index of children, set by child
	effectiveLimits     map[limitHolder]effectiveLimit // nil: no limits, or no children; set by checkInheritedLimits
}

// path is the full path of the queue, in lower case. A name that is too long is shortened,
// a missing one replaced by a question mark.
func (q *queueDraft) path() string {
	if q.parentQueue == nil {
		return q.partition.pathPrefix() + configs.RootQueue
	}
	name := q.name
	switch {
	case name == "":
		name = "?"
	case len(name) > configs.MaxQueueNameLength:
		name = strings.ToValidUTF8(name[:configs.MaxQueueNameLength], "") + "..."
	}
	return q.parentQueue.path() + "." + name
}

// isParent reports whether the queue is a parent: by the flag, by having children, or as
// root (CFG-30).
func (q *queueDraft) isParent() bool {
	return q.parentQueue == nil || q.parentFlag || len(q.children) > 0
}

// child returns the child of that name, or nil.
func (q *queueDraft) child(name string) *queueDraft {
	if q.childByName == nil {
		q.childByName = make(map[string]*queueDraft, len(q.children))
		for _, c := range q.children {
			q.childByName[c.name] = c
		}
	}
	return q.childByName[name]
}

// ownSetting returns the queue's own setting of that name, if it has one.
func (q *queueDraft) ownSetting(name string) (setting, bool) { return find(q.settings, name) }

func find(settings []setting, name string) (setting, bool) {
	for _, s := range settings {
		if s.name.text == name {
			return s, true
		}
	}
	return setting{}, false
}

type childTemplateDraft struct {
	position
	tooManyProperties bool // it has more than maxProperties, those without a value included
	maxApplications   count
	settings          []setting
	max, guaranteed   quantities
}

// isEmpty reports whether the template has no setting, which is the same as no template
// (QUE-22).
func (t *childTemplateDraft) isEmpty() bool {
	return !t.tooManyProperties && t.maxApplications.n == 0 && len(t.settings) == 0 &&
		len(t.max.texts) == 0 && len(t.guaranteed.texts) == 0
}

type limitDraft struct {
	position
	description     string
	users, groups   []token
	max             quantities
	maxApplications count
	broken          bool // a part of it could not be read, so missing values are not reported
}

type ruleDraft struct {
	position
	partition *partitionDraft
	label     string // placementrules[0].parent
	kind      placement.Kind
	valid     bool // the kind is known, and the rule has the value that it needs
	create    bool
	value     token
	filter    placement.Filter
	parent    *ruleDraft
}

func (d *ruleDraft) path() string { return d.partition.pathPrefix() + d.label }

// chain is the rule with all its parent rules, the topmost parent first.
func (d *ruleDraft) chain() []*ruleDraft {
	if d.parent == nil {
		return []*ruleDraft{d}
	}
	return append(d.parent.chain(), d)
}
