package limits

// nameIndex finds the element of a list that names a user or a group. A look-up costs the same however many names
// there are: a document may have half a million, and every application and every reader looks some up.
type nameIndex struct {
	users  map[string]int // index of the first element that names the user
	groups map[string]groupEntry
}

// groupEntry is the first element that names a group.
type groupEntry struct {
	index int
	order int // of the name among all groups
}

// newNameIndex returns an empty index, with space for so many names.
func newNameIndex(users, groups int) nameIndex {
	return nameIndex{make(map[string]int, users), make(map[string]groupEntry, groups)}
}

// add adds the names of the element at an index. Elements must be added in their order.
func (x *nameIndex) add(index int, users, groups []string) {
	for _, user := range users {
		if _, named := x.users[user]; !named {
			x.users[user] = index
		}
	}
	for _, group := range groups {
		if _, named := x.groups[group]; !named {
			x.groups[group] = groupEntry{index, len(x.groups)}
		}
	}
}

// forUser returns the index of the element that names the user, or else of the one with the wildcard.
func (x *nameIndex) forUser(user string) (index int, ok bool) {
	index, ok = x.users[user]
	if !ok {
		index, ok = x.users[Wildcard]
	}
	return index, ok
}

// forGroups returns the index of the element that counts a user with these groups, and the group that it counts: the
// first that is named and that the user has, or else Wildcard.
func (x *nameIndex) forGroups(groups []string) (index int, group string, ok bool) {
	first := len(x.groups)
	for _, g := range groups {
		if e, named := x.groups[g]; named && g != Wildcard && e.order < first {
			index, group, first, ok = e.index, g, e.order, true
		}
	}
	if ok {
		return index, group, true
	}
	e, ok := x.groups[Wildcard]
	return e.index, Wildcard, ok
}
