package quota

import "cmp"

// UserOrGroup is the user or group of a limit or of a class quota.
type UserOrGroup struct {
	Group bool // otherwise a user
	Name  string
}

func (h UserOrGroup) String() string {
	if h.Group {
		return "group " + h.Name
	}
	return "user " + h.Name
}

// Compare orders users before groups, each by name.
func (h UserOrGroup) Compare(o UserOrGroup) int {
	switch {
	case h.Group == o.Group:
		return cmp.Compare(h.Name, o.Name)
	case h.Group:
		return 1
	}
	return -1
}
