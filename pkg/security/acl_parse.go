package security

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of ParseACL.
var (
	ErrTooManyLists = errors.New("access list has more than two lists")
	ErrLeadingSpace = errors.New("access list begins with a space but names two lists")
)

// The legal names of users and groups, the same as in limits and filters (ACL-4). The patterns of YuniKorn's
// access lists are narrower and do not match service accounts.
var (
	userPattern  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9:#/_.@-]*\$?$`)
	groupPattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9:_.-]*$`)
)

// IsUserName reports whether a configuration may have this name for a user.
func IsUserName(s string) bool { return userPattern.MatchString(s) }

// IsGroupName reports whether a configuration may have this name for a group.
func IsGroupName(s string) bool { return groupPattern.MatchString(s) }

// IsPrintable reports whether a name is valid UTF-8 without control characters (ACL-20). A user may have a
// printable name that is not legal in a list; a name that is not printable is refused. C ends a name at NUL, so
// an operating system would look up another user.
func IsPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// ParseACL reads an access list of queues.yaml (ACL-1 to ACL-4): users, white space, groups, with commas between
// names. White space in front stands for an empty list of users, so " dev" is the group dev. A list "*" allows
// every user, an empty text none. Illegal names match no user; they are left out and returned.
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
