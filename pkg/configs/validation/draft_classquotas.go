package validation

import "github.com/canopy-scheduler/canopy/pkg/limits"

// ClassSelectorDraft is a selector of asks by their priority class.
type ClassSelectorDraft struct {
	Position
	Operator limits.Operator
	Classes  []Token
	Broken   bool   // it could not be read, so rules about it are silent
	text     string // text form of the built selector; set by checkSelector, unless it is broken
}

// ClassQuotaDraft is a class quota of a queue.
type ClassQuotaDraft struct {
	Position
	Name          Token
	Match         *ClassSelectorDraft // nil: the key is missing
	Users, Groups []Token
	Hard          Quantities
}
