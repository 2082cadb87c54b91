package configs

import (
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A draft is a part of the document that was read, with its places, and may be
// wrong. Reading reports what one value shows on its own and leaves such a value out
// of the draft; checking reports what takes several; only then is anything built.

// at is a place in the text.
type at struct{ line, col int }

func place(n *yaml.Node) at { return at{n.Line, n.Column} }

// word is a text with its place.
type word struct {
	at
	text string
}

// setting is one entry of a properties map.
type setting struct{ name, value word }

// count is a number of applications. A missing one is zero and ok.
type count struct {
	at
	n  uint64
	ok bool // false: it could not be read, so rules about it stay silent
}

// quantities is a map of resources. Those that could not be read are not in it.
type quantities struct {
	at
	set    bool // written, and not null
	broken bool // some could not be read
	n      map[string]resources.Quantity
	places map[string]at
	texts  map[string]string // as written
}

// isZero reports whether there are quantities, and all of them are zero.
func (q *quantities) isZero() bool { return len(q.n) > 0 && q.isNothing() }

// isNothing reports whether there is no quantity above zero, and none was meant.
func (q *quantities) isNothing() bool { return !q.broken && !q.isPositive() }

// isPositive reports whether any quantity is above zero. None can be below.
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
	hasClasses, hasBudgets bool // the key was there
	empty                  bool // there is nothing in it but comments
}

type partitionDraft struct {
	at
	name            string
	root            *queueDraft
	limits          []*limitDraft
	limitsAt        at
	rules           []*ruleDraft
	nodes           policies.NodeOrder
	weights         []word
	ignorePriority  bool
	preemption      bool
	quotaPreemption bool
	nodePressure    bool
	waits           time.Duration // nominationtimeout
	churn           Churn
	resolver        string
	needQuota       []*selectorDraft
}

func (p *partitionDraft) path() string { return "partition " + p.name }

// scope is what paths inside the partition start with: nothing for the partition that
// nearly everybody has alone.
func (p *partitionDraft) scope() string {
	if p.name == defaultPartition {
		return ""
	}
	return "[" + p.name + "]"
}

type queueDraft struct {
	at
	partition       *partitionDraft
	up              *queueDraft // nil: this is root
	name            string      // lower case
	level           int         // root is 1
	parent          bool        // as written; see isParent
	max, guaranteed quantities
	maxApplications count
	settings        []setting
	properties      int // how many there are at most, inherited ones included; made by checkQueueProperties
	submit, admin   security.ACL
	aclUnknown      bool // an access list could not be read
	limits          []*limitDraft
	classQuotas     []*classQuotaDraft
	quotaForAll     map[string]*classQuotaDraft // those for everybody, by match; made by checkQuotasOfClasses
	template        *templateDraft
	children        []*queueDraft
	index           map[string]*queueDraft    // of children, made by child
	carried         map[limitHolder]allowance // what limits allow whom here, for the queues below; made by checkInheritedLimits
}

// path is the whole name of the queue, in lower case. A name that cannot be one is
// shortened or replaced by a question mark.
func (q *queueDraft) path() string {
	if q.up == nil {
		return q.partition.scope() + rootName
	}
	name := q.name
	switch {
	case name == "":
		name = "?"
	case len(name) > maxNameLength:
		name = strings.ToValidUTF8(name[:maxNameLength], "") + "..."
	}
	return q.up.path() + "." + name
}

// isParent reports whether the queue has children or may get them. Having children is
// as good as the flag.
func (q *queueDraft) isParent() bool { return q.up == nil || q.parent || len(q.children) > 0 }

// child returns the child of that name, or nil.
func (q *queueDraft) child(name string) *queueDraft {
	if q.index == nil {
		q.index = make(map[string]*queueDraft, len(q.children))
		for _, c := range q.children {
			q.index[c.name] = c
		}
	}
	return q.index[name]
}

// own returns the queue's own setting of that name, if it has one.
func (q *queueDraft) own(name string) (setting, bool) { return find(q.settings, name) }

func find(settings []setting, name string) (setting, bool) {
	for _, s := range settings {
		if s.name.text == name {
			return s, true
		}
	}
	return setting{}, false
}

type templateDraft struct {
	at
	crowded         bool // it has more properties than it may, those without a value included
	maxApplications count
	settings        []setting
	max, guaranteed quantities
}

// isEmpty reports whether the template says nothing at all, which is the same as not
// having one (behaviour.md 3.2).
func (t *templateDraft) isEmpty() bool {
	return !t.crowded && t.maxApplications.n == 0 && len(t.settings) == 0 &&
		len(t.max.texts) == 0 && len(t.guaranteed.texts) == 0
}

type limitDraft struct {
	at
	description     string
	users, groups   []word
	max             quantities
	maxApplications count
	broken          bool // some of it could not be read, so what is missing is not reported
}

type ruleDraft struct {
	at
	partition *partitionDraft
	label     string // placementrules[0].parent
	kind      placement.Kind
	usable    bool // it has a kind, and the value that kind needs
	create    bool
	value     word
	filter    placement.Filter
	parent    *ruleDraft
}

func (d *ruleDraft) path() string { return d.partition.scope() + d.label }

// chain is the rule with all its parents, the one nearest to root first.
func (d *ruleDraft) chain() []*ruleDraft {
	if d.parent == nil {
		return []*ruleDraft{d}
	}
	return append(d.parent.chain(), d)
}
