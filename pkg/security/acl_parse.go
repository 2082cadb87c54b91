package security

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reasons the text of an access list is refused.
var (
	ErrTooManyLists = errors.New("access list has more than two lists")                 // V7
	ErrLeadingSpace = errors.New("access list begins with a space but names two lists") // L1
)

// The names of behaviour.md 1.4. Access lists have the same as limits and filters:
// upstream's narrower ones make service accounts impossible to name (9.1).
var (
	userPattern  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9:#/_.@-]*\$?$`)
	groupPattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9:_.-]*$`)
)

// IsUserName reports whether somebody can have this name.
func IsUserName(s string) bool { return userPattern.MatchString(s) }

// IsGroupName reports whether a group can have this name.
func IsGroupName(s string) bool { return groupPattern.MatchString(s) }

// IsPrintable reports whether a name can be written down for people, and is to everybody who
// reads it the same: it is UTF-8 and has no control character. Names that no list can have
// may still be names of users; those that are not showable are nobody's. C, where the
// operating system looks users up, ends a name at NUL and so reads that of somebody else.
func IsPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// ParseACL reads an access list as queues.yaml writes it: users, white space, groups,
// with commas between names (behaviour.md 9.1). Any amount of white space is as good
// as one space. White space in front stands for an empty list of users, so " dev" is
// the group dev. A list that is exactly "*" allows everybody; an empty text, nobody.
// Illegal names can match nobody; they are left out and returned.
func ParseACL(text string) (acl ACL, illegal []string, err error) {
	lists := strings.Fields(text)
	onlyGroups := strings.TrimLeftFunc(text, unicode.IsSpace) != text
	switch {
	case len(lists) > 2:
		return ACL{}, nil, ErrTooManyLists
	case len(lists) == 2 && onlyGroups:
		return ACL{}, nil, ErrLeadingSpace
	case len(lists) == 0:
		return ACL{}, nil, nil
	case slices.Contains(lists, "*"):
		return Everyone(), nil, nil
	case onlyGroups:
		groups, illegal := legalNames(lists[0], IsGroupName)
		return AllowList(nil, groups), illegal, nil
	}
	users, illegal := legalNames(lists[0], IsUserName)
	var groups, more []string
	if len(lists) == 2 {
		groups, more = legalNames(lists[1], IsGroupName)
	}
	return AllowList(users, groups), append(illegal, more...), nil
}

func legalNames(list string, legal func(string) bool) (names, illegal []string) {
	for name := range strings.SplitSeq(list, ",") {
		if legal(name) {
			names = append(names, name)
		} else {
			illegal = append(illegal, name)
		}
	}
	return names, illegal
}
